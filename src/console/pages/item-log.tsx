/** The output of an item: live while an attempt runs, otherwise the end of one attempt's log. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { call, isApiError, urlOf } from "../data/api.ts";
import { Loaded } from "../ui/loaded.tsx";
import { bytesText } from "../ui/numbers.ts";
import { Output } from "../ui/output.tsx";

interface ItemParams {
  readonly queue: string;
  readonly item_id: string;
}

/** Only the end of a longer log is shown; the complete log can be downloaded. */
const LOG_BYTES_MAX = 500_000;

interface LogProps {
  readonly params: ItemParams;
  /** Default: the last attempt with output. */
  readonly attempt?: number;
}

export function AttemptLog({ params, attempt }: LogProps) {
  const query = attempt === undefined ? {} : { attempt };
  const log = useQuery({
    queryKey: ["log", params, attempt ?? "last"],
    queryFn: async ({ signal }) => {
      const headers = { range: `bytes=-${LOG_BYTES_MAX}` };
      try {
        const response = await call(
          "GET /items/{queue}/{item_id}/log",
          { params, query },
          { headers, signal },
        );
        const size = Number(response.headers.get("content-range")?.split("/")[1] ?? 0);
        return { text: await response.text(), size };
      } catch (error) {
        if (isApiError(error) && (error.status === 404 || error.code === "range_invalid")) return null;
        throw error;
      }
    },
  });
  return (
    <Loaded query={log} rows={3}>
      {(data) =>
        data === null ? (
          <p className="px-3 py-4 text-muted">No output was kept.</p>
        ) : (
          <Output
            text={data.text}
            label={attempt === undefined ? "Output" : `Log of attempt ${attempt}`}
            actions={
              <>
                {data.size > LOG_BYTES_MAX && <span>the end of {bytesText(data.size)}</span>}
                <a
                  className="text-accent hover:underline"
                  href={urlOf("GET /items/{queue}/{item_id}/log", { params, query })}
                  download={`${params.item_id}.log`}
                >
                  Download
                </a>
              </>
            }
          />
        )
      }
    </Loaded>
  );
}

/** How much live output the page keeps. */
const LIVE_CHARS_MAX = 1_000_000;

export function LiveLog({ params }: { readonly params: ItemParams }) {
  const { queue, item_id } = params;
  const [text, setText] = useState("");
  useEffect(() => {
    const url = urlOf("GET /items/{queue}/{item_id}/log/tail", { params: { queue, item_id } });
    const source = new EventSource(url);
    source.addEventListener("output", ({ data }) =>
      setText((old) => (old + textOf(String(data))).slice(-LIVE_CHARS_MAX)),
    );
    source.addEventListener("end", () => source.close());
    return () => source.close();
  }, [queue, item_id]);
  return <Output isLive text={text} label="Live output" />;
}

/** Events carry their text as JSON, because a chunk may end in the middle of a line. */
function textOf(data: string): string {
  const { text, title } = JSON.parse(data) as { readonly text?: string; readonly title?: string };
  return text ?? (title === undefined ? "" : `${title}\n`);
}
