/** Carries a command over a WebSocket as the API server does (v5.channel.k8s.io): one byte for the channel, then its bytes. */
import type { Duplex, Readable } from "node:stream";
import type { WebSocket } from "ws";
import type { ExecOptions, ExecSession, ObjectAt } from "../../src/kube/kube.ts";
import { reasonOf } from "../../src/runtime/errors.ts";

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 };

export function readExecUrl({ pathname, searchParams }: URL): { at: ObjectAt; options: ExecOptions } {
  const [, namespace = "", name = ""] = /\/namespaces\/([^/]+)\/pods\/([^/]+)\/exec$/.exec(pathname) ?? [];
  const container = searchParams.get("container");
  return {
    at: { namespace, name },
    options: {
      command: searchParams.getAll("command"),
      stdin: searchParams.get("stdin") === "true",
      tty: searchParams.get("tty") === "true",
      ...(container === null ? {} : { container }),
    },
  };
}

/** Output is cut into pieces of so many bytes. */
const pieceBytes = 32 * 1024;

export function bridgeExec(socket: WebSocket, session: ExecSession): void {
  const send = (channel: number, bytes: Buffer) =>
    new Promise<void>((resolve, reject) => {
      // Fails at once while the socket is closing: whoever went on would never let the event loop run.
      socket.send(Buffer.concat([Buffer.of(channel), bytes]), (error) => (error ? reject(error) : resolve()));
    });
  const carry = async (channel: number, output: Readable) => {
    for await (const bytes of output as AsyncIterable<Buffer>) {
      for (let from = 0; from < bytes.length; from += pieceBytes) {
        await send(channel, bytes.subarray(from, from + pieceBytes));
      }
    }
  };
  socket.on("message", (data: Buffer) => {
    const rest = data.subarray(1);
    if (data[0] === channels.stdin) session.stdin.write(rest);
    if (data[0] === channels.resize) {
      const { Width: columns, Height: rows } = JSON.parse(rest.toString());
      session.resize({ columns, rows });
    }
    if (data[0] === channels.close && data[1] === channels.stdin) session.stdin.end();
  });
  socket.on("close", () => {
    session.close();
    for (const output of [session.stdout, session.stderr]) output.destroy();
  });
  const outputs = Promise.all([carry(channels.stdout, session.stdout), carry(channels.stderr, session.stderr)]);
  outputs.catch(() => socket.terminate());
  session.exit
    .then(exitStatus, (thrown) => ({
      status: "Failure",
      reason: "InternalError",
      code: 500,
      message: reasonOf(thrown),
    }))
    .then(async (status) => {
      await outputs;
      await send(channels.status, Buffer.from(JSON.stringify(status)));
      socket.close(1000);
    })
    // The client has gone.
    .catch(() => socket.terminate());
}

/** Carries a connection to a port as the API server does (v4.channel.k8s.io): each channel begins with the port's number. */
export function bridgePort(socket: WebSocket, port: number, connection: Duplex): void {
  const start = Buffer.of(port & 0xff, port >> 8);
  for (const channel of [0, 1]) socket.send(Buffer.concat([Buffer.of(channel), start]));
  connection.on("data", (bytes: Buffer) => socket.send(Buffer.concat([Buffer.of(0), bytes])));
  connection.on("error", (thrown) => socket.send(Buffer.concat([Buffer.of(1), Buffer.from(thrown.message)])));
  connection.on("close", () => socket.close());
  socket.on("message", (data: Buffer) => void (data[0] === 0 && connection.write(data.subarray(1))));
  socket.on("close", () => connection.destroy());
}

function exitStatus(code: number): object {
  if (code === 0) return { status: "Success" };
  const causes = [{ reason: "ExitCode", message: String(code) }];
  return { status: "Failure", reason: "NonZeroExitCode", details: { causes } };
}
