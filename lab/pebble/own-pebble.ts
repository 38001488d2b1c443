/** Pebble, an ACME authority for tests: one of one's own on a loopback address of its own, to which every name leads back to us. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Owner } from "../../test/support/owner.ts";
import { makeCertificate } from "../../test/support/test-certificate.ts";
import { answers } from "../api.ts";
import { binaryOf } from "../build.ts";
import { write } from "../files.ts";
import { needProgram } from "../machine.ts";
import { ownAddress, startOwnProcess } from "../own-process.ts";

interface PebbleOptions {
  /** Accounts must be bound to one of these, by key id. */
  readonly bindings?: Readonly<Record<string, string>>;
  /** Validity of its certificates. */
  readonly validitySeconds?: number;
  /** How many good requests in a hundred it rejects once. */
  readonly percentRejectedNonces?: number;
}

const [port, adminPort, httpPort, tlsPort] = [24_000, 25_000, 25_002, 25_001];

export interface OwnPebble {
  readonly directoryUrl: string;
  /** Signs the certificate that it shows itself. */
  readonly authorityPem: string;
  /** Where it looks for answers to its challenges. */
  readonly address: string;
  readonly httpPort: number;
  readonly tlsPort: number;
  /** The root of its certificates. */
  rootPem(): Promise<string>;
  start(): Promise<void>;
  /** It has forgotten everything when it is started again. */
  stop(): Promise<void>;
}

export async function startPebble(owner: Owner, options: PebbleOptions = {}): Promise<OwnPebble> {
  const { bindings, validitySeconds = 90 * 86_400, percentRejectedNonces = 0 } = options;
  const folder = mkdtempSync(join(tmpdir(), "akash-provider-pebble-"));
  const file = (name: string) => join(folder, name);
  const address = ownAddress();
  const authority = makeCertificate({ name: "pebble authority" });
  const shown = makeCertificate({ name: "pebble", address, issuer: authority });
  const names = await startNameServer(address);
  write(file("tls.crt"), shown.certPem);
  write(file("tls.key"), shown.keyPem);
  const settings = {
    ...{ listenAddress: `${address}:${port}`, managementListenAddress: `${address}:${adminPort}`, httpPort, tlsPort },
    ...{ certificate: file("tls.crt"), privateKey: file("tls.key"), keyAlgorithm: "ecdsa" },
    profiles: { default: { description: "for tests", validityPeriod: validitySeconds } },
    ...(bindings && { externalAccountBindingRequired: true, externalAccountMACKeys: bindings }),
  };
  write(file("pebble.json"), JSON.stringify({ pebble: settings }));
  const url = (path: string, at = port) => `https://${address}:${at}/${path}`;
  let running: ReturnType<typeof startOwnProcess> | undefined;

  async function start(): Promise<void> {
    const environment = [
      "PEBBLE_VA_NOSLEEP=1",
      `PEBBLE_WFE_NONCEREJECT=${percentRejectedNonces}`,
      "PEBBLE_AUTHZREUSE=0",
    ];
    const args = ["-config", file("pebble.json"), "-dnsserver", `127.0.0.1:${names.port}`];
    const command = { program: needProgram("env"), args: [...environment, binaryOf("pebble"), ...args] };
    running = startOwnProcess("pebble", command, folder);
    await running.until(() => answers(url("dir")));
  }

  const stop = async () => running?.end("SIGKILL");
  owner.after(async () => {
    await stop();
    names.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await start();
  return {
    ...{ directoryUrl: url("dir"), authorityPem: authority.certPem, address, httpPort, tlsPort, start, stop },
    rootPem: async () => (await fetch(url("roots/0", adminPort))).text(),
  };
}

/** Answers every A query with this address, and other queries with no records. Pebble queries over TCP, with a length prefix. */
async function startNameServer(address: string): Promise<{ readonly port: number; close(): void }> {
  const server = createServer((socket) => {
    let bytes = Buffer.alloc(0);
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
        const size = bytes.readUInt16BE(0);
        const answer = answerTo(bytes.subarray(2, 2 + size), address);
        socket.write(Buffer.concat([Buffer.of(answer.length >> 8, answer.length & 0xff), answer]));
        bytes = bytes.subarray(2 + size);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}

function answerTo(query: Buffer, address: string): Buffer {
  // The question is a name, which ends with a zero, and its type and class.
  const end = query.indexOf(0, 12) + 5;
  const isAddress = query.readUInt16BE(end - 4) === 1;
  const header = Buffer.from([0, 0, 0x81, 0x80, 0, 1, 0, isAddress ? 1 : 0, 0, 0, 0, 0]);
  query.copy(header, 0, 0, 2);
  // The name of the question, an address, of the Internet, for a minute, of four bytes.
  const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split(".").map(Number)]);
  return Buffer.concat([header, query.subarray(12, end), ...(isAddress ? [answer] : [])]);
}
