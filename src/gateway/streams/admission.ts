/**
 * Limits streams, and ends them with their credentials or their lease, which are checked again with every step of the chain. While
 * the chain does not answer, streams continue.
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

/** In total, fewer than connections: each costs up to 280 KB with its TLS, its buffers and its connection to the cluster. */
const streamsAtOnce = 768;
/** Per tenant: a console may show the logs of each service in a tab of its own. */
export const streamsPerTenant = 128;
/** How often the expiry of long-lived credentials is checked: timers have 24 days at most, and wall clocks are set. */
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
  readonly tenant: string;
  readonly ending: AbortController;
  timer: Timer | undefined;
}

export function createAdmission({ chain, leases, authenticator, clock }: AdmissionDeps) {
  const streams = new Set<Admitted>();
  const ofTenants = createCounts();
  const leaving = new Map<Admitted, () => void>();
  const endings = new Map<string, number>();
  let isStopping = false;

  /** Also where it was closed before: while it is torn down, its logs could be followed for ever. */
  const isClosed = (lease: LeaseId | undefined) => lease !== undefined && !runs(chain.mirror.lease(lease));

  function add(stream: Admitted): void {
    const isTotal = streams.size >= streamsAtOnce;
    if (isTotal || ofTenants.of(stream.tenant) >= streamsPerTenant)
      throw new ProviderError("AKP_STREAMS_TOO_MANY", { whose: isTotal ? "of all tenants" : "of this tenant" });
    streams.add(stream);
    ofTenants.add(stream.tenant, 1);
    watchExpiry(stream);
  }

  function remove(stream: Admitted): void {
    if (!streams.delete(stream)) return;
    ofTenants.add(stream.tenant, -1);
    stream.timer?.cancel();
  }

  function end({ ending }: Admitted, why: ProviderError): void {
    if (ending.signal.aborted) return;
    endings.set(why.code, (endings.get(why.code) ?? 0) + 1);
    ending.abort(why);
  }

  function watchExpiry(stream: Admitted): void {
    const { untilMs } = stream.identity;
    if (untilMs === undefined) return;
    const leftMs = untilMs - clock.now();
    if (leftMs <= 0) end(stream, credentialsOver("they have expired"));
    else stream.timer = clock.timer(Math.min(leftMs, streamExpiryCheckMs), () => watchExpiry(stream));
  }

  async function check(stream: Admitted): Promise<void> {
    if (isClosed(stream.lease)) end(stream, new ProviderError("AKP_STREAM_LEASE_CLOSED", {}));
    try {
      await authenticator.identify(stream.credentials);
    } catch (thrown) {
      if (thrown instanceof AuthError && thrown.status < 429) end(stream, credentialsOver(thrown.message));
    }
  }

  chain.onStep(() => {
    // Not awaited: a check may query the chain, which delivers no step until this one returns.
    for (const stream of streams) void check(stream);
  });

  return {
    /** Throws AKP_STREAMS_TOO_MANY. */
    admit(request: AdmissionRequest) {
      const tenant = request.identity.owner ?? rateLimitKeyOfAddress(request.credentials.source);
      if (isStopping) throw new ProviderError("AKP_STREAM_STOPPING", {});
      const ending = new AbortController();
      const stream: Admitted = { ...request, tenant, ending, timer: undefined };
      if (!isMissing(request.lease, leases)) add(stream);
      return {
        /** Aborted with a ProviderError when the stream has to end. */
        signal: ending.signal,
        /** The account, or else the rate limit key, that it counts for. */
        tenant,
        end: (why: ProviderError) => end(stream, why),
        /** It counts no longer, though its client has not confirmed the close; the oldest of too many is cut. */
        leave(cut: () => void): void {
          leaving.set(stream, cut);
          remove(stream);
          const ofTenant = [...leaving].filter(([each]) => each.tenant === tenant);
          if (ofTenant.length > streamsPerTenant) ofTenant[0]?.[1]();
        },
        release(): void {
          leaving.delete(stream);
          remove(stream);
        },
      };
    },
    /** Streams that ended early, by error code. */
    endings: endings as ReadonlyMap<string, number>,
    get count() {
      return streams.size;
    },
    /** Those whose client has not confirmed the close. */
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

/** The handler ends such a stream at once, so it is not counted. */
function isMissing(lease: LeaseId | undefined, leases: AdmissionDeps["leases"]): boolean {
  try {
    return lease !== undefined && leases?.find(lease).state === "unknown";
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_CLUSTER_UNKNOWN")) return false;
    throw thrown;
  }
}
