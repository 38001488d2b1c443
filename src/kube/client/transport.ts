/** How requests get to an API server and answers come back: over sockets, or within the process. */
import type { Duplex, Readable } from "node:stream";
import type { CallOptions, ExecOptions, ExecSession, ObjectAt } from "../kube.ts";
import type { Operation, Peer } from "./refusal.ts";

export interface Transport {
  /** Sends it and resolves with the head of the answer, whatever its status. */
  send(request: SentRequest): Promise<Answer>;
  exec(at: ObjectAt, options: ExecOptions): Promise<ExecSession>;
  forwardPort(at: ObjectAt, port: number, options: CallOptions): Promise<Duplex>;
  /** With whom we speak, for messages. */
  peer(): Promise<Peer>;
  /** The server said 401: the credentials are looked at again. */
  refused(): void;
  close(): void;
}

/**
 * Requests of different lanes never wait for each other: calls, which the server answers itself; streams, which go on for
 * as long as they please; and what is passed on to a pod, which may be as slow as it likes.
 */
export type Lane = "calls" | "streams" | "proxied";

export interface SentRequest extends Operation {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  /** Ends the answer too, also while it comes. */
  readonly signal?: AbortSignal | undefined;
  /** How long the server may take to begin its answer. */
  readonly answerMs?: number;
  readonly lane?: Lane;
  /** Without it, what a kept connection swallowed because the server let go of it just then may be sent anew. */
  readonly neverTwice?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
  readonly peer: Peer;
}
