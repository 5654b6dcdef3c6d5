/** A NestJS application with a queue as a provider: it takes invoices, pays them in the background, and shows the letters. */
import "reflect-metadata";
import {
  Body,
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  Param,
  Post,
  UnprocessableEntityException,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { open, PermanentError, type Queue, type Redrive, RedriveError } from "redrive";
import { z } from "zod";

const REDRIVE = Symbol("redrive");
const invoice = z.object({ vat: z.string(), total: z.number() });
type Invoice = z.infer<typeof invoice>;

@Injectable()
class Invoices implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly queue: Queue<Invoice>;
  readonly #redrive: Redrive;

  constructor(@Inject(REDRIVE) redrive: Redrive) {
    this.#redrive = redrive;
    this.queue = redrive.queue("invoices", { schema: invoice, retries: 3, unique: "return" });
  }

  onApplicationBootstrap() {
    this.queue.work(({ data }) => this.pay(data));
  }

  /** Nest calls it after the last request, so running attempts still finish. */
  async onApplicationShutdown() {
    await this.#redrive.close({ timeout: "10s" });
  }

  pay({ vat, total }: Invoice) {
    if (vat === "") throw new PermanentError("no VAT id");
    return { paid: total };
  }
}

@Controller()
class InvoicesController {
  readonly #invoices: Invoices;

  constructor(@Inject(Invoices) invoices: Invoices) {
    this.#invoices = invoices;
  }

  @Post("invoices/:key")
  async add(@Param("key") key: string, @Body() body: Invoice) {
    try {
      const { id, outcome } = await this.#invoices.queue.add(body, { key });
      return { id, outcome };
    } catch (error) {
      if (!(error instanceof RedriveError) || error.code !== "input_invalid") throw error;
      throw new UnprocessableEntityException({ error: error.message, field: error.field });
    }
  }

  @Get("letters")
  async letters() {
    const { letters, total } = await this.#invoices.queue.letters().page({ limit: 100 });
    return {
      total,
      letters: letters.map(({ id, data, failures }) => ({ id, data, error: failures[0]?.message })),
    };
  }
}

@Module({
  controllers: [InvoicesController],
  providers: [Invoices, { provide: REDRIVE, useFactory: () => open(process.env.REDRIVE_STORE ?? "memory:") }],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ["error", "warn"] });
app.enableShutdownHooks();
await app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
console.log(await app.getUrl());
