/**
 * Which streams there may be, and until when: a stream outlives the request that began it, so what let it in is looked at again
 * with every step of the chain. It ends when its token or certificate does, when its lease does, and when we stop. What is merely
 * unknown ends nothing: while the chain is away, tenants go on reading.
 */
import type { Chain } from "../../chain/chain.ts";
import { runs } from "../../chain/records.ts";
import type { TenantLeases } from "../../kube/tenant-access.ts";
import type { LeaseId } from "../../market/ids.ts";
import { createCounts } from "../../runtime/byte-budget.ts";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { hour } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { AuthError, type Authenticator, type CallerCredentials, type CallerIdentity } from "../auth/identity.ts";
import { rateLimitKeyOfAddress } from "../rest/rate-limit-key.ts";

/** Open streams, fewer than connections: each costs up to 280 KB with its TLS, its buffers and its way into the cluster. */
const streamsAtOnce = 768;
/** Of one tenant: a console that shows the logs of each of his services in a tab of its own. */
export const streamsPerTenant = 128;
/** How often the end of long-lived credentials is looked for: a timer has 24 days at most, and wall clocks are set. */
export const streamExpiryCheckMs = hour;

export interface AdmissionRequest {
  readonly credentials: CallerCredentials;
  readonly identity: CallerIdentity;
  readonly lease: LeaseId | undefined;
}

export type Admission = ReturnType<typeof createAdmission>;
export type AdmittedStream = ReturnType<Admission["admit"]>;

interface AdmissionDeps {
  readonly chain: Pick<Chain, "mirror" | "onStep">;
  readonly leases: Pick<TenantLeases, "find"> | undefined;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
}

interface Admitted extends AdmissionRequest {
  readonly ending: AbortController;
  timer: Timer | undefined;
}

export function createAdmission({ chain, leases, authenticator, clock }: AdmissionDeps) {
  const streams = new Set<Admitted>();
  const ofTenants = createCounts();
  const leaving = new Map<Admitted, { readonly tenant: string; readonly cut: () => void }>();
  const endings = new Map<string, number>();
  let isStopping = false;

  /** Also where it had been closed before: while it is torn down, there is something to be read, and nobody would end that. */
  const isClosed = (lease: LeaseId | undefined) => lease !== undefined && !runs(chain.mirror.lease(lease));

  function take(stream: Admitted, tenant: string): void {
    if (streams.size >= streamsAtOnce) throw new ProviderError("AKP_STREAMS_TOO_MANY", { whose: "of all tenants" });
    if (ofTenants.of(tenant) >= streamsPerTenant)
      throw new ProviderError("AKP_STREAMS_TOO_MANY", { whose: "of this tenant" });
    streams.add(stream);
    ofTenants.add(tenant, 1);
    watchExpiry(stream);
  }

  function end({ ending }: Admitted, why: ProviderError): void {
    if (ending.signal.aborted) return;
    endings.set(why.code, (endings.get(why.code) ?? 0) + 1);
    ending.abort(why);
  }

  /** Timers are short beside what certificates are good for. */
  function watchExpiry(stream: Admitted): void {
    const { untilMs } = stream.identity;
    if (untilMs === undefined) return;
    const leftMs = untilMs - clock.now();
    if (leftMs <= 0) end(stream, credentialsOver("they have expired"));
    else stream.timer = clock.timer(Math.min(leftMs, streamExpiryCheckMs), () => watchExpiry(stream));
  }

  async function look(stream: Admitted): Promise<void> {
    if (isClosed(stream.lease)) {
      end(stream, new ProviderError("AKP_STREAM_LEASE_CLOSED", {}));
      return;
    }
    try {
      await authenticator.identify(stream.credentials);
    } catch (thrown) {
      if (thrown instanceof AuthError && thrown.status < 429) end(stream, credentialsOver(thrown.message));
    }
  }

  chain.onStep(() => {
    // Not waited for: the chain may have to be asked, and its next step comes only after this one.
    for (const stream of streams) void look(stream);
  });

  return {
    /** Throws AKP_STREAMS_TOO_MANY. */
    admit(asked: AdmissionRequest) {
      const tenant = asked.identity.owner ?? rateLimitKeyOfAddress(asked.credentials.source);
      if (isStopping) throw new ProviderError("AKP_STREAM_STOPPING", {});
      const ending = new AbortController();
      const stream: Admitted = { ...asked, ending, timer: undefined };
      if (!isMissing(asked.lease, leases)) take(stream, tenant);
      const free = () => {
        if (!streams.delete(stream)) return;
        ofTenants.add(tenant, -1);
        stream.timer?.cancel();
      };
      return {
        /** Aborted with a ProviderError when it may not go on, or `end` was called. */
        signal: ending.signal,
        /** The account that it counts for; without one its address. */
        tenant,
        end: (why: ProviderError) => end(stream, why),
        /** It counts no longer, though its client has not answered the close; of too many of a tenant the oldest is cut. */
        leave(cut: () => void): void {
          leaving.set(stream, { tenant, cut });
          free();
          const theirs = [...leaving.values()].filter((each) => each.tenant === tenant);
          if (theirs.length > streamsPerTenant) theirs[0]?.cut();
        },
        release(): void {
          leaving.delete(stream);
          free();
        },
      };
    },
    /** How often streams were ended by what; those that came to their own end are not among them. */
    endings: endings as ReadonlyMap<string, number>,
    get count() {
      return streams.size;
    },
    /** Of those that wait for their clients' answer. */
    get leaving() {
      return leaving.size;
    },
    stop(): void {
      isStopping = true;
      for (const stream of streams) end(stream, new ProviderError("AKP_STREAM_STOPPING", {}));
    },
  };
}

function credentialsOver(reason: string): ProviderError {
  return new ProviderError("AKP_STREAM_CREDENTIALS_OVER", { reason });
}

/** Its handler ends at once, so it takes no slot. */
function isMissing(lease: LeaseId | undefined, leases: AdmissionDeps["leases"]): boolean {
  try {
    return lease !== undefined && leases?.find(lease).state === "unknown";
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_CLUSTER_UNKNOWN")) return false;
    throw thrown;
  }
}
