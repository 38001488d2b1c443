/** A command that the fake API server runs: it prints its input, then perhaps a word to stderr, and exits. */
import type { WebSocket } from "ws";

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 };

export function serveExec(socket: WebSocket, url: URL): void {
  const command = url.searchParams.getAll("command").join(" ");
  const send = (channel: number, text: string) => socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(text)]));
  const finish = () => {
    const [, spoken] = /echo (\w+) >&2/.exec(command) ?? [];
    if (spoken) send(channels.stderr, `${spoken}\n`);
    const code = /exit (\d+)/.exec(command)?.[1] ?? "0";
    const causes = [{ reason: "ExitCode", message: code }];
    const failure = { status: "Failure", reason: "NonZeroExitCode", details: { causes } };
    send(channels.status, JSON.stringify(code === "0" ? { status: "Success" } : failure));
    socket.close(1000);
  };
  socket.on("message", (data: Buffer) => {
    const rest = data.subarray(1).toString();
    if (data[0] === channels.stdin) send(channels.stdout, rest);
    if (data[0] === channels.resize) send(channels.stdout, `resized ${rest}\n`);
    if (data[0] === channels.close && data[1] === channels.stdin) finish();
  });
  if (url.searchParams.get("stdin") !== "true") finish();
}
