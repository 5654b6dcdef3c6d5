/** A link to the page of a queue, or of the target or job that owns it. */
import { Link } from "@tanstack/react-router";
import { linkOf, useQueueSummary } from "../data/overview.ts";

export function QueueLink({ queue }: { readonly queue: string }) {
  const summary = useQueueSummary(queue);
  return (
    <Link {...linkOf(summary ?? { queue, kind: "queue" })} className="hover:underline">
      {queue}
    </Link>
  );
}
