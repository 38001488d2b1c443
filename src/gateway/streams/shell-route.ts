/** A command in a tenant's container: what it reads and writes travels as frames, and it ends with the stream. */
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
import {
  failureFrame,
  readShellInput,
  resultFrame,
  type ShellInput,
  type ShellResult,
  shellCodes,
  shellFrame,
} from "./shell-frames.ts";
import { closeCodes, type TenantStream } from "./tenant-stream.ts";

/** Of a command's output in one frame. Nodes send up to 32 KB at a time, which waits for a slow reader in halves. */
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
  /** Why the service has nothing to run a command in, in the network's words. */
  function refusalOf(lease: LeaseId, service: string): string | undefined {
    const found = leases.find(lease);
    if (found.state !== "running") return withReason(absence[found.state], found.why);
    const counts = found.services.find(({ name }) => name === service);
    if (!counts) return "kube: no service for that lease";
    return counts.readyReplicas === 0 ? "no active replicase for service" : undefined;
  }

  async function run(lease: LeaseId, asked: ShellRequest, stream: TenantStream): Promise<ShellResult> {
    const started = Promise.withResolvers<ExecSession | undefined>();
    if (asked.stdin || asked.tty) takeInput(stream, asked, started.promise);
    try {
      const message = refusalOf(lease, asked.service);
      if (message !== undefined) return { exitCode: 0, message };
      const session = await pods.exec(lease, { ...asked, signal: stream.signal });
      started.resolve(session);
      await Promise.all([
        pass(session.stdout, shellCodes.stdout, stream),
        pass(session.stderr, shellCodes.stderr, stream),
      ]);
      return { exitCode: await session.exit };
    } finally {
      started.resolve(undefined);
    }
  }

  /** What the network's tools make of an error: its words, or that there was one. */
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
    answers: { 101: "The stream.", 400: "The query makes no sense.", 401: "Not the lease's owner, or not for this." },
    prepare(request) {
      // Unlike those of the other streams, its query is read only for who may have one.
      checkAllowed(request.identity.mayUseLease(request, scope));
      const asked = readShellRequest(request.query);
      if (!asked) return empty(400);
      checkAllowed(request.identity.servicesOf(request, scope)?.has(asked.service) ?? true);
      const lease = bidOn(request, provider);
      return async (stream) => {
        const last = await run(lease, asked, stream).then(resultFrame, (thrown) => {
          // Where it may not go on, the command is killed, and who still listens is told why.
          const { aborted, reason } = stream.signal;
          return aborted ? resultFrame({ exitCode: 137, message: reasonOf(reason) }) : lastFrame(thrown, lease);
        });
        await stream.send(last);
        return { code: closeCodes.done };
      };
    },
  };
}

/** No more is sent than is read, so that a slow reader slows the command down. */
function pass(output: Readable, code: number, stream: TenantStream): Promise<void> {
  return forEachChunk(chunksOf(output, shellFrameBytes), (bytes) => stream.send(shellFrame(code, bytes)));
}

/** And no more is read than the command takes. */
function takeInput(stream: TenantStream, asked: ShellRequest, started: Promise<ExecSession | undefined>): void {
  let isOver = false;

  async function take(input: ShellInput): Promise<void> {
    const session = await started;
    if (!session) return;
    if (input.kind === "resize" && asked.tty) session.resize(input.size);
    if (!asked.stdin) return;
    if (input.kind === "stdin") await write(session, input.bytes);
    if (input.kind === "endOfInput" && asked.tty) await write(session, endOfTransmission);
    if (input.kind === "endOfInput" && !asked.tty) session.stdin.end();
  }

  stream.onFrame((frame, isBinary) => {
    const input = readShellInput(frame, isBinary);
    if (isOver || input.kind === "nothing") return undefined;
    isOver = input.kind === "unknown" || input.kind === "endOfInput";
    return take(input);
  });
}

/** What a command that has ended does not take is lost, as in a pipe. */
function write({ stdin }: ExecSession, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => void stdin.write(bytes, () => resolve()));
}

/** What a shell is asked to run, read from its query as the network reads it. */
interface ShellRequest {
  readonly command: readonly string[];
  readonly tty: boolean;
  readonly service: string;
  readonly stdin: boolean;
  readonly podIndex: number;
}

export function readShellRequest(query: URLSearchParams): ShellRequest | undefined {
  const command = commandIn(query);
  const [tty, service, stdin] = [query.get("tty"), query.get("service"), query.get("stdin")];
  const podIndex = parsePodIndex(query.get("podIndex") ?? "");
  if (!command[0] || !tty || !service || !stdin || podIndex === undefined) return undefined;
  return { command, tty: tty === "1", service, stdin: stdin === "1", podIndex };
}

/** cmd0, cmd1 and so on, up to the first that is missing. An empty word is a word. */
function commandIn(query: URLSearchParams): string[] {
  // Of several with one name the first counts. A query looks through all it has for each that it is asked for.
  const given = new Map([...query].reverse());
  const words: string[] = [];
  for (;;) {
    const word = given.get(`cmd${words.length}`);
    if (word === undefined) return words;
    words.push(word);
  }
}

/** By what a number begins with: its base. */
const forms: readonly (readonly [base: number, form: RegExp])[] = [
  [16, /^0x((?:_?[0-9a-f])+)$/i],
  [2, /^0b((?:_?[01])+)$/i],
  [8, /^0o?((?:_?[0-7])+)$/i],
  [10, /^(0|[1-9](?:_?[0-9])*)$/],
];

/** No index has more, whatever is written before it. */
const mostChars = 64;

function parsePodIndex(text: string): number | undefined {
  if (text.length > mostChars) return undefined;
  for (const [base, form] of forms) {
    const digits = form.exec(text)?.[1]?.replaceAll("_", "");
    if (digits === undefined) continue;
    const index = Number.parseInt(digits, base);
    return index < 2 ** 31 ? index : undefined;
  }
  return undefined;
}
