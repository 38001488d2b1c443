/** The least that could be done: Node's own HTTPS server, in a process of its own, which answers everything with the same bytes. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

export type Asked =
  | {
      readonly what: "serve";
      readonly cert: string;
      readonly key: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
    }
  | { readonly what: "stop" };

export interface Told {
  readonly what: "serving";
  readonly port: number;
}

let headers: Record<string, string> = {};
let body: Uint8Array = new Uint8Array();
const server = createServer({ minVersion: "TLSv1.3", requestCert: true, rejectUnauthorized: false }, (_, response) => {
  response.writeHead(200, headers).end(body);
});

process.on("message", (asked: Asked) => {
  if (asked.what === "stop") process.exit();
  ({ headers, body } = asked);
  server.setSecureContext({ cert: asked.cert, key: asked.key });
  const tell = () => process.send?.({ what: "serving", port: (server.address() as AddressInfo).port } satisfies Told);
  if (server.listening) tell();
  else server.listen(0, "127.0.0.1", tell);
});
// A parent that has failed says nothing.
process.once("disconnect", () => process.exit());
