/** Runs a command in a tenant's container over a WebSocket; it ends with the stream. */
import type { Readable } from "node:stream";
import type { ExecSession } from "../../kube/kube.ts";
import type { TenantLeases, TenantPods } from "../../kube/tenant-access.ts";
import type { Address } from "../../market/address.ts";
import { bidOn, type LeaseId } from "../../market/ids.ts";
import { chunksOf, forEachChunk } from "../../runtime/chunks.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { checkAllowed } from "../auth/identity.ts";
import { empty } from "../rest/answer.ts";
import { absence, withReason } from "../rest/lease-routes.ts";
import type { StreamRoute } from "../rest/route.ts";
import { failureFrame, readShellInput, resultFrame, type ShellInput, shellCodes, shellFrame } from "./shell-frames.ts";
import { closeCodes, type TenantStream } from "./tenant-stream.ts";

/** Output in one frame. Kubelets send up to 32 KB at a time. */
const shellFrameBytes = 16 * 1024;

interface ShellRouteDeps {
  readonly provider: Address;
  readonly leases: Pick<TenantLeases, "find">;
  readonly pods: Pick<TenantPods, "exec">;
  readonly log: Log;
}

const scope = "shell";

const endOfTransmission = Buffer.of(4);

export function shellRoute({ provider, leases, pods, log }: ShellRouteDeps): StreamRoute {
  /** Why no command can run in the service, in the words of the Go provider. */
  function missingPod(lease: LeaseId, service: string): string | undefined {
    const found = leases.find(lease);
    if (found.state !== "running") return withReason(absence[found.state], found.why);
    const counts = found.services.find(({ name }) => name === service);
    if (!counts) return "kube: no service for that lease";
    return counts.readyReplicas === 0 ? "no active replicase for service" : undefined;
  }

  async function run(lease: LeaseId, request: ShellRequest, stream: TenantStream): Promise<Buffer> {
    const started = Promise.withResolvers<ExecSession | undefined>();
    if (request.stdin || request.tty) takeInput(stream, request, started.promise);
    try {
      const message = missingPod(lease, request.service);
      if (message !== undefined) return resultFrame({ exitCode: 0, message });
      const session = await pods.exec(lease, { ...request, signal: stream.signal });
      started.resolve(session);
      await Promise.all([
        pass(session.stdout, shellCodes.stdout, stream),
        pass(session.stderr, shellCodes.stderr, stream),
      ]);
      return resultFrame({ exitCode: await session.exit });
    } finally {
      started.resolve(undefined);
    }
  }

  /** Tools show the message of a result; a failure has none. */
  function lastFrame(thrown: unknown, lease: LeaseId): Buffer {
    const error = ProviderError.from(thrown);
    if (error.code === "AKP_CLUSTER_UNKNOWN") return resultFrame({ exitCode: 0, message: error.message });
    if (error.code.startsWith("AKP_SHELL_"))
      return resultFrame({ exitCode: 0, message: `remote command execute error: ${error.message}` });
    log.info("shell failed", { dseq: lease.dseq, error });
    return failureFrame;
  }

  return {
    ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/shell", access: "stream", scope },
    about: "Runs a command in a container of a service, with its input and output, over a WebSocket.",
    answers: { 101: "The stream.", 400: "The query is invalid.", 401: "Not the lease's owner, or not permitted." },
    prepare(request) {
      // Unlike for other streams, authorization comes before the query.
      checkAllowed(request.identity.mayUseLease(request, scope));
      const shell = readShellRequest(request.query);
      if (!shell) return empty(400);
      checkAllowed(request.identity.servicesOf(request, scope)?.has(shell.service) ?? true);
      const lease = bidOn(request, provider);
      return async (stream) => {
        const last = await run(lease, shell, stream).catch((thrown) => {
          // A command that has to end is killed, and the client gets the reason.
          const { aborted, reason } = stream.signal;
          return aborted ? resultFrame({ exitCode: 137, message: reasonOf(reason) }) : lastFrame(thrown, lease);
        });
        await stream.send(last);
        return { code: closeCodes.done };
      };
    },
  };
}

/** With back-pressure: a slow client slows the command down. */
function pass(output: Readable, code: number, stream: TenantStream): Promise<void> {
  return forEachChunk(chunksOf(output, shellFrameBytes), (bytes) => stream.send(shellFrame(code, bytes)));
}

/** With back-pressure: a slow command slows the client down. */
function takeInput(
  stream: TenantStream,
  { stdin, tty }: ShellRequest,
  started: Promise<ExecSession | undefined>,
): void {
  let isOver = false;

  async function take(input: ShellInput): Promise<void> {
    const session = await started;
    if (!session) return;
    if (input.kind === "resize" && tty) session.resize(input.size);
    if (!stdin) return;
    if (input.kind === "stdin") await write(session, input.bytes);
    if (input.kind === "endOfInput" && tty) await write(session, endOfTransmission);
    if (input.kind === "endOfInput" && !tty) session.stdin.end();
  }

  stream.onFrame((frame, isBinary) => {
    const input = readShellInput(frame, isBinary);
    if (isOver || input.kind === "nothing") return undefined;
    isOver = input.kind === "unknown" || input.kind === "endOfInput";
    return take(input);
  });
}

/** Input of an ended command is lost, as in a pipe. */
function write({ stdin }: ExecSession, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => void stdin.write(bytes, () => resolve()));
}

type ShellRequest = NonNullable<ReturnType<typeof readShellRequest>>;

/** As the Go provider reads it; undefined where it is invalid. */
export function readShellRequest(query: URLSearchParams) {
  const command = commandIn(query);
  const [tty, service, stdin] = [query.get("tty"), query.get("service"), query.get("stdin")];
  const podIndex = parsePodIndex(query.get("podIndex") ?? "");
  if (!command[0] || !tty || !service || !stdin || podIndex === undefined) return undefined;
  return { command, tty: tty === "1", service, stdin: stdin === "1", podIndex };
}

/** cmd0, cmd1 and so on, up to the first that is missing. */
function commandIn(query: URLSearchParams): string[] {
  // The first of several counts. A Map, as URLSearchParams searches linearly.
  const given = new Map([...query].reverse());
  const words: string[] = [];
  for (;;) {
    const word = given.get(`cmd${words.length}`);
    if (word === undefined) return words;
    words.push(word);
  }
}

/** Integers as in Go, with prefix and underscores. */
const forms = [
  [16, /^0x((?:_?[0-9a-f])+)$/i],
  [2, /^0b((?:_?[01])+)$/i],
  [8, /^0o?((?:_?[0-7])+)$/i],
  [10, /^(0|[1-9](?:_?[0-9])*)$/],
] as const;

const mostDigits = 64;

function parsePodIndex(text: string): number | undefined {
  if (text.length > mostDigits) return undefined;
  for (const [base, form] of forms) {
    const digits = form.exec(text)?.[1]?.replaceAll("_", "");
    if (digits === undefined) continue;
    const index = Number.parseInt(digits, base);
    return index < 2 ** 31 ? index : undefined;
  }
  return undefined;
}
