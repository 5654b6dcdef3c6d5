/**
 * Iterates the elements of pages one at a time. An async generator would do the same with several promises for each element,
 * which costs more than reading it.
 */
export class ElementsOfPages<Page, Element> implements AsyncIterableIterator<Element> {
  readonly #pages: AsyncIterator<Page, unknown>;
  readonly #elementsOf: (page: Page) => readonly Element[];
  #elements: readonly Element[] = [];
  #at = 0;
  /** The pending read of the next page, so that a second call of `next` waits for it. */
  #turning: Promise<IteratorResult<Element, undefined>> | undefined;

  constructor(pages: AsyncIterator<Page, unknown>, elementsOf: (page: Page) => readonly Element[]) {
    this.#pages = pages;
    this.#elementsOf = elementsOf;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Element, undefined>> {
    if (this.#turning !== undefined) return this.#turning.then(() => this.next());
    if (this.#at < this.#elements.length) return Promise.resolve(this.#take());
    this.#turning = this.#turn().finally(() => {
      this.#turning = undefined;
    });
    return this.#turning;
  }

  /** Called by `break`: stops reading pages. */
  async return(): Promise<IteratorResult<Element, undefined>> {
    await this.#pages.return?.();
    this.#elements = [];
    return ENDED;
  }

  #take(): IteratorResult<Element, undefined> {
    const value = this.#elements[this.#at] as Element;
    this.#at += 1;
    return { value, done: false };
  }

  async #turn(): Promise<IteratorResult<Element, undefined>> {
    do {
      const page = await this.#pages.next();
      this.#elements = page.done ? [] : this.#elementsOf(page.value);
      this.#at = 0;
      if (page.done) return ENDED;
    } while (this.#elements.length === 0);
    return this.#take();
  }
}

const ENDED = { value: undefined, done: true } as const;
