/** A command in a container of the simulated cluster. */
import { PassThrough } from "node:stream";
import { connectionError, type Operation } from "../../../../kube/client/api-errors.ts";
import { kinds, objectText } from "../../../../kube/kinds.ts";
import type { ExecOptions, ExecSession, ObjectAt } from "../../../../kube/kube.ts";
import type { Clock } from "../../../../runtime/clock.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import type { ExecStreams, TerminalSize } from "../../components/kubelet/pod-runtime.ts";
import { badRequest } from "../objects/rejections.ts";
import { clientError, peer, StatusError } from "../objects/status-error.ts";
import { containerOf, type PodDeps, podAt } from "./pods.ts";

export interface ExecDeps extends PodDeps {
  readonly clock: Clock;
}

export async function execIn(at: ObjectAt, options: ExecOptions, deps: ExecDeps): Promise<ExecSession> {
  const operation = { verb: "exec in", resource: objectText(kinds.pod, at) };
  options.signal?.throwIfAborted();
  await deps.clock.yield();
  options.signal?.throwIfAborted();
  const { session, streams, end } = createSession(options, operation);
  const running = run(at, options, streams, deps);
  // A command that cannot start fails at once; other failures arrive when it ends.
  const failure = await Promise.race([running.then(() => undefined, asStatusError), deps.clock.yield()]);
  if (failure) {
    end(failure);
    throw toClientError(failure, operation);
  }
  running.then((code) => end(undefined, code), end);
  return session;
}

async function run(at: ObjectAt, options: ExecOptions, streams: ExecStreams, { server, runtime, faults }: ExecDeps) {
  faults.check({ verb: "exec", resource: "pods", path: `${at.namespace}/${at.name}/exec`, dryRun: false });
  const pod = podAt(server, at);
  const container = containerOf(pod, options.container);
  const { spec } = pod;
  if (!isRecord(spec) || !spec["nodeName"]) throw badRequest(`pod ${at.name} does not have a host assigned`);
  return runtime.exec(pod, container, options.command, streams);
}

function createSession({ tty = false, stdin: hasInput = false, signal }: ExecOptions, operation: Operation) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const exit = Promise.withResolvers<number>();
  // A caller that ignores the exit code gets no unhandled rejection.
  exit.promise.catch(() => undefined);
  // Output of a command after its client has gone is lost.
  for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);
  const sizes = new Set<(size: TerminalSize) => void>();

  function end(thrown: unknown, code?: number): void {
    if (code === undefined) exit.reject(toClientError(thrown, operation));
    else exit.resolve(code);
    signal?.removeEventListener("abort", close);
    for (const stream of [stdin, stdout, stderr]) if (!stream.writableEnded) stream.end();
  }

  function close(): void {
    end(new Error("the connection ended before the command did"));
  }

  signal?.addEventListener("abort", close, { once: true });
  const streams: ExecStreams = {
    stdin: hasInput ? stdin : undefined,
    stdout,
    stderr: tty ? stdout : stderr,
    onResize: (listener) => void sizes.add(listener),
  };
  const session: ExecSession = {
    stdin,
    stdout,
    stderr,
    resize: (size) => sizes.forEach((listener) => void listener(size)),
    exit: exit.promise,
    close,
  };
  return { session, streams, end };
}

function asStatusError(thrown: unknown): StatusError | undefined {
  return thrown instanceof StatusError ? thrown : undefined;
}

function toClientError(thrown: unknown, operation: Operation): Error {
  return thrown instanceof StatusError ? clientError(thrown, operation) : connectionError(thrown, operation, peer);
}
