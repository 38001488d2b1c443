/** The requests to the lab's API server and their users: its audit log since a mark. */
import { randomUUID } from "node:crypto";
import { closeSync, fstatSync, globSync, openSync, readSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { callApi } from "./api.ts";
import { places } from "./places.ts";

/** A place in the log. The server moves a full file away, and a new one takes its name. */
export interface AuditMark {
  readonly inode: number;
  readonly bytes: number;
}

export interface AuditedRequest {
  readonly user: string;
  /** The pod that sent the request as this user; empty if none did. */
  readonly pod: string;
  /** get, list, watch, create, update, patch, delete, deletecollection. */
  readonly verb: string;
  /** As a role names it: "pods", "deployments.apps", "pods/log"; a path for requests without a resource. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** The answer's status; of a running watch the initial one. */
  readonly code: number;
  /** A dry run. */
  readonly dryRun: boolean;
}

/** An entry is written before its request is answered, but a busy disk may delay it. */
const writtenWithinMs = 60_000;

const reading = new Set(["get", "list", "watch"]);

export function isWrite({ verb, dryRun }: AuditedRequest): boolean {
  return !reading.has(verb) && !dryRun;
}

/** The end of the log, behind all that was answered so far. */
export async function markAudit(): Promise<AuditMark> {
  const before = endOfLog();
  await fence(before);
  return endOfLog();
}

/** Every request of a user that was answered since the mark, in the order of the answers; a watch once. */
export async function auditedSince(mark: AuditMark, user: string): Promise<AuditedRequest[]> {
  const requests = new Map<string, AuditedRequest>();
  // A run of the tests writes a hundred megabytes: lines without the user's name are not parsed.
  for (const line of (await fence(mark)).filter((each) => each.includes(`"username":${JSON.stringify(user)}`))) {
    const entry = JSON.parse(line) as AuditEntry;
    if (entry.user.username === user) requests.set(entry.auditID, requestOf(entry));
  }
  return [...requests.values()];
}

interface AuditEntry {
  readonly auditID: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number };
}

function requestOf({ user, verb, requestURI, objectRef, responseStatus }: AuditEntry): AuditedRequest {
  const { resource = new URL(requestURI, "http://x").pathname, apiGroup, subresource } = objectRef ?? {};
  return {
    user: user.username,
    pod: user.extra?.["authentication.kubernetes.io/pod-name"]?.[0] ?? "",
    verb,
    resource: `${resource}${apiGroup ? `.${apiGroup}` : ""}${subresource ? `/${subresource}` : ""}`,
    namespace: objectRef?.namespace ?? "",
    name: objectRef?.name ?? "",
    code: responseStatus?.code ?? 0,
    dryRun: new URL(requestURI, "http://x").searchParams.has("dryRun"),
  };
}

/** Sends a unique request and reads until it is in the log: then all earlier requests are, too. */
async function fence(from: AuditMark): Promise<string[]> {
  const name = `audit-${randomUUID()}`;
  await callApi(`/api/v1/namespaces/${name}`);
  const deadlineMs = realClock.monotonicMs() + writtenWithinMs;
  for (;;) {
    const lines = linesFrom(from);
    const end = lines.findIndex((line) => line.includes(name));
    if (end >= 0) return lines.slice(0, end);
    if (realClock.monotonicMs() > deadlineMs)
      throw new Error(`${places.auditLog} does not show a request that was answered`);
    await sleep(realClock, 20);
  }
}

function linesFrom(mark: AuditMark): string[] {
  const files = logFiles();
  const first = files.findIndex((path) => statSync(path).ino === mark.inode);
  if (first < 0) throw new Error("the audit log since the mark is gone: the server keeps 400 MB of it");
  const texts = files.slice(first).map((path, index) => textFrom(path, index === 0 ? mark.bytes : 0));
  // The last line may not be whole yet.
  return texts.flatMap((text) => text.split("\n").filter((line) => line.endsWith("}")));
}

/** Oldest first: those that were moved away have the time in their name. */
function logFiles(): string[] {
  const folder = dirname(places.auditLog);
  return [
    ...globSync("audit-*.log", { cwd: folder })
      .sort()
      .map((name) => join(folder, name)),
    places.auditLog,
  ];
}

function endOfLog(): AuditMark {
  const { ino, size } = statSync(places.auditLog);
  return { inode: ino, bytes: size };
}

function textFrom(path: string, start: number): string {
  const file = openSync(path, "r");
  try {
    const content = Buffer.alloc(fstatSync(file).size - start);
    const read = readSync(file, content, 0, content.length, start);
    return content.toString("utf8", 0, read);
  } finally {
    closeSync(file);
  }
}
