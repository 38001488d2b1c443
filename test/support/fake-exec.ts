/** An exec whose command says what the test wants it to say. */
import { PassThrough, Readable } from "node:stream";
import type { ExecSession, Kube } from "../../src/kube/kube.ts";

export interface ExecOutput {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly code?: number;
  /** It says nothing until it is cut off. */
  readonly hangs?: boolean;
}

export interface FakeExec extends Pick<Kube, "exec"> {
  /** "namespace/pod container: command", of each command that was run. */
  readonly ran: string[];
  /** Sessions that nobody closed yet. */
  readonly open: number;
  says: ExecOutput;
}

export function createFakeExec(says: ExecOutput = {}): FakeExec {
  const ran: string[] = [];
  let open = 0;
  const standIn = {
    ran,
    says,
    get open() {
      return open;
    },
    async exec({ namespace, name }, { container, command, signal }) {
      ran.push(`${namespace}/${name} ${container}: ${command.join(" ")}`);
      const { stdout = "", stderr = "", code = 0, hangs = false } = standIn.says;
      const exit = Promise.withResolvers<number>();
      exit.promise.catch(() => undefined);
      const out = hangs ? new PassThrough() : Readable.from([Buffer.from(stdout)]);
      const complaint = hangs ? new PassThrough() : Readable.from([Buffer.from(stderr)]);
      let closed = false;
      open += 1;
      const close = () => {
        if (!closed) open -= 1;
        closed = true;
        out.destroy();
        complaint.destroy();
        exit.reject(new Error("the connection was closed"));
      };
      signal?.addEventListener("abort", close, { once: true });
      if (!hangs) exit.resolve(code);
      const session: ExecSession = {
        stdin: new PassThrough(),
        stdout: out,
        stderr: complaint,
        resize: () => undefined,
        exit: exit.promise,
        close,
      };
      return session;
    },
  } satisfies FakeExec & Record<string, unknown>;
  return standIn as FakeExec;
}
