/** A command in a container of the simulated cluster. */
import { PassThrough } from "node:stream";
import { connectionError, type Operation } from "../../../../kube/client/api-errors.ts";
import { kinds, objectText } from "../../../../kube/kinds.ts";
import type { ExecOptions, ExecSession, ObjectAt } from "../../../../kube/kube.ts";
import type { Clock } from "../../../../runtime/clock.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import type { ExecStreams, TerminalSize } from "../../components/kubelet/pod-runtime.ts";
import { badRequest } from "../objects/refusals.ts";
import { clientError, peer, Refused } from "../objects/refused.ts";
import { containerOf, type PodDeps, podAt } from "./pods.ts";

export interface ExecDeps extends PodDeps {
  readonly clock: Clock;
}

export async function execIn(at: ObjectAt, options: ExecOptions, deps: ExecDeps): Promise<ExecSession> {
  const asked = { verb: "exec in", resource: objectText(kinds.pod, at) };
  options.signal?.throwIfAborted();
  await deps.clock.yield();
  options.signal?.throwIfAborted();
  const { session, streams, end } = createSession(options, asked);
  const running = run(at, options, streams, deps);
  // What cannot even begin is told at once; all else when it ends.
  const refused = await Promise.race([running.then(() => undefined, asRefused), deps.clock.yield()]);
  if (refused) {
    end(refused);
    throw told(refused, asked);
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

function createSession({ tty = false, stdin: hasInput = false, signal }: ExecOptions, asked: Operation) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const exit = Promise.withResolvers<number>();
  // Who does not ask for the exit code need not hear that there is none.
  exit.promise.catch(() => undefined);
  // What a command still says when nobody is there any more is lost.
  for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);
  const sizes = new Set<(size: TerminalSize) => void>();

  function end(thrown: unknown, code?: number): void {
    if (code === undefined) exit.reject(told(thrown, asked));
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

function asRefused(thrown: unknown): Refused | undefined {
  return thrown instanceof Refused ? thrown : undefined;
}

function told(thrown: unknown, asked: Operation): Error {
  return thrown instanceof Refused ? clientError(thrown, asked) : connectionError(thrown, asked, peer);
}
