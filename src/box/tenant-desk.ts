/**
 * How a tenant of the demo deals with a provider: as any tenant would, by its address on the chain, over TLS, with a
 * token or a certificate, and only if the server proves to be that provider.
 */
import { makeCertificate, newSerial } from "../chain/certificates/make-certificate.ts";
import type { Queries } from "../chain/chain.ts";
import { createCertificateMessage } from "../chain/tx/messages.ts";
import { type SendDeps, sendMessages } from "../chain/tx/send.ts";
import { createProviderClient } from "../gateway/client/provider-client.ts";
import { type ClientCredentials, certificatesOnChain } from "../gateway/client/provider-connection.ts";
import type { LeaseId } from "../market/ids.ts";
import type { Manifest } from "../market/manifest.ts";
import { ProviderError } from "../runtime/errors.ts";

/** How a tenant proves who it is. */
export const proofs = ["token", "certificate"] as const;
export type Proof = (typeof proofs)[number];

/** What a tenant has to deal with providers by. */
export interface Desk {
  open(lease: LeaseId, proof: Proof): Promise<LeaseDesk>;
}

export interface LeaseDesk {
  /** Throws what the provider has against it. */
  sendManifest(manifest: Manifest): Promise<void>;
  status(): Promise<LeaseAnswer>;
  close(): void;
}

/** "gone": nothing runs for it. "unknown": the provider cannot say just now. */
export type LeaseAnswer = LeaseStatus | "gone" | "unknown";

export interface LeaseStatus {
  readonly services: Readonly<Record<string, ServiceStatus>>;
  readonly errors?: readonly string[] | null;
}

interface ServiceStatus {
  readonly total: number;
  readonly observed_generation: number;
  readonly updated_replicas: number;
  readonly ready_replicas: number;
}

interface DeskDeps {
  readonly queries: Pick<Queries, "provider" | "certificates">;
  readonly sending: SendDeps;
  /** Called for every request. */
  readonly onRequest: (proof: Proof) => void;
}

/** Longer than any demo. */
const certificateLifeMs = 365 * 24 * 3_600_000;

export function createDesk({ queries, sending, onRequest }: DeskDeps): Desk {
  const { signer, clock, signal } = sending;
  let certificate: Promise<ClientCredentials> | undefined;

  /** Made once, when it is first needed, and put on the chain, where providers look for it. */
  async function published(): Promise<ClientCredentials> {
    const nowMs = clock.now();
    const made = makeCertificate({
      ...{ owner: signer.address, hosts: [], isServer: false, serial: newSerial(clock, sending.random) },
      ...{ fromMs: nowMs - 60_000, untilMs: nowMs + certificateLifeMs },
    });
    await sendMessages(sending, [createCertificateMessage(signer.address, made)]);
    return { kind: "mtls", certificate: made };
  }

  function credentialsFor(proof: Proof): ClientCredentials | Promise<ClientCredentials> {
    if (proof === "token") return { kind: "jwt", signer };
    certificate ??= published().catch((thrown) => {
      certificate = undefined;
      throw thrown;
    });
    return certificate;
  }

  return {
    async open({ provider, dseq, gseq, oseq }, proof) {
      const { value: entry } = await queries.provider(provider, { signal });
      if (!entry) throw new ProviderError("AKP_PROVIDER_UNKNOWN", { provider });
      const client = createProviderClient({
        ...{ url: entry.hostUri, provider, clock, onChain: certificatesOnChain(queries) },
        // No authority vouches for a box.
        ...{ credentials: await credentialsFor(proof), roots: [] },
      });
      const ask: typeof client.request = (request) => {
        onRequest(proof);
        return client.request({ ...request, signal });
      };
      return {
        async sendManifest(manifest) {
          await ask({ method: "PUT", path: `/deployment/${dseq}/manifest`, body: JSON.stringify(manifest) });
        },
        async status() {
          try {
            return JSON.parse(
              await ask({ method: "GET", path: `/lease/${dseq}/${gseq}/${oseq}/status` }),
            ) as LeaseStatus;
          } catch (thrown) {
            const status = ProviderError.is(thrown, "AKP_PROVIDER_REFUSED") ? thrown.details["status"] : undefined;
            if (status === 404) return "gone";
            if (status === 503) return "unknown";
            throw thrown;
          }
        },
        close: client.close,
      };
    },
  };
}
