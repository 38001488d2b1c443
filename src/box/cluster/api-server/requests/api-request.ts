/** One request to the API server and its answer, as they would go over a wire. */
import type { Readable } from "node:stream";
import type { SentRequest } from "../../../../kube/client/transport.ts";
import type { Route } from "./route.ts";

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** A stream for what goes on: watches and logs that are followed. */
  readonly body: string | Buffer | Readable;
}

/** A request once its address is read. */
export interface Call extends Omit<SentRequest, "verb"> {
  readonly route: Route;
  readonly query: URLSearchParams;
  readonly verb: Verb;
}

/** "exec" of pods; with RBAC that is a verb on "pods/exec". */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "exec";

export function jsonAnswer(body: unknown, status = 200, headers: Record<string, string> = {}): ApiAnswer {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

export function verbOf(method: string, route: Route, query: URLSearchParams): Verb {
  if (method === "GET") {
    if (route.name !== undefined) return "get";
    return isTrue(query.get("watch")) ? "watch" : "list";
  }
  if (method === "POST") return "create";
  if (method === "PUT") return "update";
  return method === "DELETE" ? "delete" : "patch";
}

export function isTrue(text: string | null): boolean {
  return text === "1" || text === "true";
}
