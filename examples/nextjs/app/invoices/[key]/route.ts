/** POST /invoices/4711 adds an item. */
import { invoice, invoices } from "../../../lib/redrive.ts";

export const runtime = "nodejs"; // not "edge": the store needs sockets or files

export async function POST(request: Request, { params }: { params: Promise<{ key: string }> }) {
  const { success, data } = invoice.safeParse(await request.json());
  if (!success) return Response.json({ error: "not an invoice" }, { status: 422 });
  const { key } = await params;
  const { id, outcome } = await (await invoices()).add(data, { key });
  return Response.json({ id, outcome }, { status: 202 });
}
