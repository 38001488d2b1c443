/** Reads the first bytes of a connection, until they are whole. */
import type { Socket } from "node:net";
import type { Clock } from "../../runtime/clock.ts";
import { limits } from "../../runtime/limits.ts";

interface Read {
  readonly kind: string;
}

interface Outcome<T> {
  /** `bytes` are all that were read. */
  whole(first: T, bytes: Buffer): void;
  failed(reason: "garbage" | "timeout"): void;
}

/** A connection that the other side ends before that is closed without a word. */
export function readFirstBytes<T extends Read>(
  socket: Socket,
  clock: Clock,
  read: (bytes: Buffer) => T | { readonly kind: "unfinished" } | { readonly kind: "garbage" },
  outcome: Outcome<Exclude<T, { readonly kind: "unfinished" | "garbage" }>>,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const fail = (reason: "garbage" | "timeout") => {
    stop();
    outcome.failed(reason);
    socket.destroy();
  };
  const timer = clock.timer(limits.gatewayHandshakeMs, () => fail("timeout"));
  const stop = () => {
    timer.cancel();
    socket.off("readable", look).off("end", leave).off("close", stop);
  };
  const leave = () => {
    stop();
    socket.destroy();
  };
  function look(): void {
    for (let chunk = socket.read() as Buffer | null; chunk; chunk = socket.read() as Buffer | null) {
      chunks.push(chunk);
      size += chunk.length;
    }
    const bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size);
    const first = read(bytes);
    if (first.kind === "unfinished" && size < limits.gatewayHelloBytes) return;
    if (first.kind === "unfinished" || first.kind === "garbage") fail("garbage");
    else {
      stop();
      outcome.whole(first as Exclude<T, { readonly kind: "unfinished" | "garbage" }>, bytes);
    }
  }
  socket.on("readable", look).once("end", leave).once("close", stop);
}
