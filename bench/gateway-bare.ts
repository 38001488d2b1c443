/** The least that could be done: Node's own HTTPS server, in a process of its own, which answers everything with the same bytes. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tlsSettings } from "../src/gateway/rest/tls-front.ts";
import { serveParent } from "./processes.ts";
import { cpuMs } from "./report.ts";

export type Command =
  | {
      readonly what: "serve";
      readonly cert: string;
      readonly key: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
    }
  | { readonly what: "cpu" };

export type Report =
  | { readonly what: "serving"; readonly port: number }
  /** How long this process was at work. */
  | { readonly what: "cpu"; readonly cpuMs: number };

let headers: Record<string, string> = {};
let body: Uint8Array = new Uint8Array();
const server = createServer({ ...tlsSettings, requestCert: true, rejectUnauthorized: false }, (_, response) => {
  response.writeHead(200, headers).end(body);
});

const sendReport = serveParent<Command, Report>((command) => {
  if (command.what === "cpu") sendReport({ what: "cpu", cpuMs: cpuMs() });
  if (command.what !== "serve") return;
  ({ headers, body } = command);
  server.setSecureContext({ ...tlsSettings, cert: command.cert, key: command.key });
  const serving = () => sendReport({ what: "serving", port: (server.address() as AddressInfo).port });
  if (server.listening) serving();
  else server.listen(0, "127.0.0.1", serving);
});
