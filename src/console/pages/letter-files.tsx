/** The files of an attempt: its evidence, with a preview of images, and the changes in its worktree. */

import { useQuery } from "@tanstack/react-query";
import { call, urlOf } from "../data/api.ts";
import type { LetterDetails } from "../data/letter.ts";
import { useRoute } from "../data/use-route.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Patch } from "../ui/diff.tsx";
import { Facts } from "../ui/facts.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { bytesText } from "../ui/numbers.ts";
import { Panel } from "../ui/panel.tsx";

interface FilesProps {
  readonly letter: LetterDetails;
}

/** Image types that cannot contain scripts. */
const IMAGES: readonly unknown[] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];
const IMAGE_BYTES_MAX = 5_000_000;

export function LetterEvidence({ letter }: FilesProps) {
  const params = { queue: letter.queue, item_id: letter.item_id };
  const evidence = useRoute("letter", "GET /letters/{queue}/{item_id}/evidence", { params });
  const files = evidence.data?.files ?? [];
  if (files.length === 0) return null;
  return (
    <Panel title={`Evidence (${files.length})`}>
      <ul className="divide-y divide-line">
        {files.map(({ number, attempt, path, can_download: isKept, ...file }) => {
          const { media_type: type, bytes, missing, problem } = file;
          const address = { ...params, number: String(number) };
          const isImage = isKept && IMAGES.includes(type) && Number(bytes ?? 0) <= IMAGE_BYTES_MAX;
          return (
            <li key={number} className="px-3 py-2">
              <p className="flex flex-wrap gap-x-3">
                <span className="min-w-0 font-mono text-xs break-all">{path}</span>
                <span className="text-xs text-muted">
                  attempt {attempt}
                  {typeof bytes === "number" && `, ${bytesText(bytes)}`}
                  {missing === true && ", the file did not exist"}
                  {typeof problem === "string" && `, it ${problem}`}
                </span>
                {isKept && (
                  <a
                    className="text-xs text-accent hover:underline"
                    href={urlOf("GET /letters/{queue}/{item_id}/evidence/{number}", { params: address })}
                    download
                  >
                    Download
                  </a>
                )}
              </p>
              {isImage && <EvidenceImage address={address} type={String(type)} path={path} />}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

interface ImageProps {
  readonly address: { readonly queue: string; readonly item_id: string; readonly number: string };
  readonly type: string;
  readonly path: string;
}

/** The server sends evidence as a download, so the image is created from its bytes. */
function EvidenceImage({ address, type, path }: ImageProps) {
  const image = useQuery({
    queryKey: ["evidence", address],
    queryFn: async ({ signal }) => {
      const route = "GET /letters/{queue}/{item_id}/evidence/{number}" as const;
      const response = await call(route, { params: address }, { signal });
      return dataUrl(new Blob([await response.arrayBuffer()], { type }));
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Loaded query={image} rows={1}>
      {(source) => (
        <img
          src={source}
          alt={`Evidence ${path}`}
          className="mt-2 max-h-80 min-h-8 min-w-8 rounded border border-line object-contain"
        />
      )}
    </Loaded>
  );
}

function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("The image could not be read."));
    reader.readAsDataURL(blob);
  });
}

export function LetterChanges({ letter }: FilesProps) {
  const { queue, item_id } = letter;
  const artifacts = letter.worktree_artifacts;
  const changes = useRoute(
    "letter",
    "GET /letters/{queue}/{item_id}/changes",
    { params: { queue, item_id } },
    { enabled: artifacts !== undefined },
  );
  if (artifacts === undefined) return null;
  return (
    <Panel title="Changes in the worktree">
      <Loaded query={changes} rows={3}>
        {({ changes: found, missing }) => (
          <>
            {found !== null && (
              <Facts
                facts={[
                  [
                    "Folder",
                    <span key="path" className="font-mono text-xs break-all">
                      {found.worktree_path} <CopyButton text={`cd ${found.worktree_path}`} label="Copy cd" />
                    </span>,
                  ],
                  [
                    "Branch",
                    <span key="b" className="font-mono text-xs">
                      {found.branch_name}
                    </span>,
                  ],
                ]}
              />
            )}
            {missing.map((sentence) => (
              <p key={sentence} className="px-3 pb-2 text-muted">
                {sentence}
              </p>
            ))}
            {found?.commits && (
              <>
                <p className="px-3 pb-1 font-medium">Committed</p>
                <Patch text={found.commits} />
              </>
            )}
            {found?.uncommitted && (
              <>
                <p className="px-3 py-1 font-medium">Not committed</p>
                <Patch text={found.uncommitted} />
              </>
            )}
            {found !== null && !found.commits && !found.uncommitted && missing.length === 0 && (
              <p className="px-3 pb-3 text-muted">The attempt changed no file.</p>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}
