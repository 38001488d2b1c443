/** Traefik as a process of one test: it passes TLS through to servers on loopback, with a header of the PROXY protocol before it. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Owner } from "../../test/support/owner.ts";
import { binaryOf } from "../build.ts";
import { write } from "../files.ts";
import { ownAddress, startOwnProcess } from "../own-process.ts";

interface PassedThrough {
  /** Of its entry point, on the address of this Traefik. */
  readonly port: number;
  /** A host and a port. */
  readonly to: string;
  readonly proxyProtocol: 1 | 2;
}

/** Resolves with its address, when all of its ports take connections. */
export async function startTraefik(owner: Owner, passed: readonly PassedThrough[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "akash-provider-traefik-"));
  const address = ownAddress();
  const nameOf = ({ port }: PassedThrough) => `port${port}`;
  const byName = (of: (each: PassedThrough) => object) => {
    return Object.fromEntries(passed.map((each) => [nameOf(each), of(each)]));
  };
  const tcp = {
    routers: byName((each) => ({
      ...{ entryPoints: [nameOf(each)], rule: "HostSNI(`*`)", service: nameOf(each), tls: { passthrough: true } },
    })),
    services: byName((each) => ({
      loadBalancer: { servers: [{ address: each.to }], serversTransport: nameOf(each) },
    })),
    serversTransports: byName(({ proxyProtocol: version }) => ({ proxyProtocol: { version } })),
  };
  const routes = join(folder, "routes.yaml");
  write(routes, JSON.stringify({ tcp }));
  const args = [
    ...passed.map((each) => `--entrypoints.${nameOf(each)}.address=${address}:${each.port}`),
    `--providers.file.filename=${routes}`,
    "--global.checknewversion=false",
    "--global.sendanonymoususage=false",
  ];
  const running = startOwnProcess("traefik", { program: binaryOf("traefik"), args }, folder);
  owner.after(async () => {
    await running.end("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  await running.until(async () => {
    const listening = await Promise.all(passed.map(({ port }) => listens(address, port)));
    return listening.every(Boolean);
  });
  return address;
}

function listens(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
