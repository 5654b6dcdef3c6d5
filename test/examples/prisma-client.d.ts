/** The part of Prisma's client that the example uses, as `prisma generate` declares it for a model `Order` with two fields. */
declare module "@prisma/client" {
  interface Order {
    id: string;
    total: number;
  }

  interface OrderDelegate {
    create(args: { data: Order }): Prisma.PrismaPromise<Order>;
  }

  export namespace Prisma {
    interface PrismaPromise<T> extends Promise<T> {
      [Symbol.toStringTag]: "PrismaPromise";
    }
    type TransactionClient = Omit<
      PrismaClient,
      "$connect" | "$disconnect" | "$on" | "$transaction" | "$extends"
    >;
  }

  export class PrismaClient {
    readonly order: OrderDelegate;
    $connect(): Promise<void>;
    $disconnect(): Promise<void>;
    $on(event: string, listener: (event: object) => void): this;
    $extends(extension: object): object;
    // biome-ignore lint/suspicious/noExplicitAny: as in the generated client
    $queryRawUnsafe<T = unknown>(query: string, ...values: any[]): Prisma.PrismaPromise<T>;
    $transaction<R>(
      steps: (tx: Prisma.TransactionClient) => Promise<R>,
      options?: { maxWait?: number; timeout?: number },
    ): Promise<R>;
  }
}
