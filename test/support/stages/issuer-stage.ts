/** A certificate issuer on the virtual clock, with an authority that keeps its orders in memory and fails on demand. */
import { join } from "node:path";
import type { Authority } from "../../../src/gateway/acme/authority.ts";
import { type CertificateIssuer, createCertificateIssuer } from "../../../src/gateway/acme/certificate-issuer.ts";
import { type IssuerStorage, openIssuerStorage } from "../../../src/gateway/acme/issuer-storage.ts";
import { type Boundary, openBoundary } from "../../../src/runtime/boundary.ts";
import { sleep } from "../../../src/runtime/clock.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import { memoryFolder } from "../folder.ts";
import type { Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { certificateTime, makeCertificate } from "../test-certificate.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";

export const host = "provider.example";
export const day = 86_400_000;

interface StandIn extends Authority {
  /** Certificates, by their order. */
  readonly issued: Map<string, string>;
  /** Times of certificate requests. */
  readonly requestedAtMs: number[];
  /** Lifetime of its certificates. */
  lifeMs: number;
  /** How far its clock is behind ours. */
  behindMs: number;
  /** Whether orders never complete. */
  hangs: boolean;
  /** Thrown for certificate requests. */
  error: Error | undefined;
  /** Host of its certificates, whatever was requested. */
  host: string;
}

interface IssuerStage {
  readonly clock: VirtualClock;
  readonly dir: string;
  readonly authority: StandIn;
  storage(boundary?: Boundary): IssuerStorage;
  start(parts?: { readonly directoryUrl?: string; readonly boundary?: Boundary }): IssuerLife;
}

/** One run of the program. */
interface IssuerLife {
  readonly issuer: CertificateIssuer;
  /** What was shown, one after the other. */
  readonly shown: (string | undefined)[];
  stop(): Promise<void>;
}

export function setUpIssuer(t: Owner): IssuerStage {
  const clock = createVirtualClock();
  const dir = join(memoryFolder(t), "certissuer");
  const authority = createStandIn(clock);
  const staging = "https://staging.example/directory";

  function storage(boundary = openBoundary, directoryUrl = staging): IssuerStorage {
    return openIssuerStorage({ dir, directoryUrl, email: "operator@example.com", host }, { boundary, clock });
  }

  return {
    ...{ clock, dir, authority, storage },
    start({ directoryUrl = staging, boundary = openBoundary } = {}) {
      const issuer = createCertificateIssuer({
        ...{ host, directoryUrl, authority, clock, random: createSeededRandom(1), log: silentLog },
        storage: storage(boundary, directoryUrl),
      });
      const shown: (string | undefined)[] = [];
      issuer.onChange(() => shown.push(issuer.current?.certificate));
      const abort = new AbortController();
      const running = issuer.run(abort.signal);
      const stop = async () => {
        abort.abort();
        await running;
      };
      t.after(stop);
      return { issuer, shown, stop };
    },
  };
}

function createStandIn(clock: VirtualClock): StandIn {
  let orders = 0;
  const standIn: StandIn = {
    ...{ issued: new Map(), requestedAtMs: [], lifeMs: 90 * day, behindMs: 0, hangs: false, error: undefined, host },
    async openOrder() {
      await clock.yield();
      return `https://staging.example/order/${++orders}`;
    },
    async complete({ url, key }, _, signal) {
      standIn.requestedAtMs.push(clock.now());
      await clock.yield();
      if (standIn.hangs) await sleep(clock, 365 * day, signal);
      if (standIn.error) throw standIn.error;
      const fromMs = clock.now() - standIn.behindMs;
      const [from, until] = [certificateTime(fromMs), certificateTime(fromMs + standIn.lifeMs)];
      const made = makeCertificate({ name: "leaf", host: standIn.host, keyPem: key, from, until });
      // The same certificate for repeated requests of an order.
      const certificate = standIn.issued.get(url) ?? made.certPem;
      standIn.issued.set(url, certificate);
      return { certificate, url: `${url}/certificate` };
    },
  };
  return standIn;
}
