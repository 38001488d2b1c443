/** Reads the first bytes of a connection, until they are whole. */
import type { Socket } from "node:net";
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";

/** From the first packet to the end of the handshake: a slow phone takes one. */
export const gatewayHandshakeMs = 5 * second;
/** A greeting with every extension there is has some 3 KB. */
export const gatewayHelloBytes = 16 * 1024;

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
  const timer = clock.timer(gatewayHandshakeMs, () => fail("timeout"));
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
    if (first.kind === "unfinished" && size < gatewayHelloBytes) return;
    if (first.kind === "unfinished" || first.kind === "garbage") fail("garbage");
    else {
      stop();
      outcome.whole(first as Exclude<T, { readonly kind: "unfinished" | "garbage" }>, bytes);
    }
  }
  socket.on("readable", look).once("end", leave).once("close", stop);
}
