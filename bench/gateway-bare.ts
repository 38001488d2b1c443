/** The least that could be done: Node's own HTTPS server, in a process of its own, which answers everything with the same bytes. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tlsSettings } from "../src/gateway/rest/tls-front.ts";
import { serveParent } from "./processes.ts";
import { cpuMs } from "./report.ts";

export type Asked =
  | {
      readonly what: "serve";
      readonly cert: string;
      readonly key: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
    }
  | { readonly what: "cpu" };

export type Told =
  | { readonly what: "serving"; readonly port: number }
  /** How long this process was at work. */
  | { readonly what: "cpu"; readonly cpuMs: number };

let headers: Record<string, string> = {};
let body: Uint8Array = new Uint8Array();
const server = createServer({ ...tlsSettings, requestCert: true, rejectUnauthorized: false }, (_, response) => {
  response.writeHead(200, headers).end(body);
});

const tell = serveParent<Asked, Told>((asked) => {
  if (asked.what === "cpu") tell({ what: "cpu", cpuMs: cpuMs() });
  if (asked.what !== "serve") return;
  ({ headers, body } = asked);
  server.setSecureContext({ ...tlsSettings, cert: asked.cert, key: asked.key });
  const serving = () => tell({ what: "serving", port: (server.address() as AddressInfo).port });
  if (server.listening) serving();
  else server.listen(0, "127.0.0.1", serving);
});
