/** Requests to the simulated API server, within the process. */
import { Readable } from "node:stream";
import { connectionError } from "../../../../kube/client/api-errors.ts";
import type { SentRequest, Transport } from "../../../../kube/client/transport.ts";
import { withDeadline } from "../../../../runtime/clock.ts";
import { kubeCallMs } from "../../../../runtime/limits.ts";
import { peer } from "../objects/status-error.ts";
import type { ApiAnswer } from "./api-request.ts";
import { type ExecDeps, execIn } from "./exec-session.ts";
import { forwardTo } from "./pods.ts";
import type { Serve } from "./serve.ts";

interface SimulatedTransportDeps extends ExecDeps {
  readonly serve: Serve;
}

export function createSimulatedTransport(deps: SimulatedTransportDeps): Transport {
  const { serve, clock } = deps;
  const open = new Set<Readable>();
  let closed = false;

  async function answered(request: SentRequest): Promise<ApiAnswer> {
    const { answerMs = kubeCallMs, signal } = request;
    const late = () => {
      throw connectionError(new Error(`no answer within ${answerMs} ms`), request, peer);
    };
    // As over a wire, nothing has happened yet when the call returns.
    await clock.yield();
    signal?.throwIfAborted();
    if (closed) throw connectionError(new Error("the connection is closed"), request, peer);
    return withDeadline(clock, answerMs, serve(request), late);
  }

  /** What is still being read ends with its signal, and with us. */
  function hold(body: Readable, signal: AbortSignal | undefined): void {
    const end = () => void body.destroy(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
    open.add(body);
    signal?.addEventListener("abort", end, { once: true });
    body.on("error", () => undefined);
    body.on("close", () => {
      open.delete(body);
      signal?.removeEventListener("abort", end);
    });
  }

  return {
    async send(request) {
      const { status, headers, body } = await answered(request);
      const readable = body instanceof Readable ? body : Readable.from([Buffer.from(body)], { objectMode: false });
      hold(readable, request.signal);
      return { status, headers, body: readable, peer };
    },
    exec: (at, options) => execIn(at, options, deps),
    forwardPort: (at, port, options) => forwardTo(at, port, options, deps),
    peer: () => Promise.resolve(peer),
    rejected: () => undefined,
    close() {
      closed = true;
      for (const body of open) body.destroy();
    },
  };
}
