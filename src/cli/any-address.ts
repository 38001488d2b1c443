/** Every address of the machine: a pod's may be of either family, and a cluster may have only one of them. */
import { ProviderError, systemCodeOf } from "../runtime/errors.ts";

/** Where IPv6 is there, "::" takes IPv4 as well. */
const both = "::";
const onlyIpv4 = "0.0.0.0";
/** How a machine says that it has no IPv6. */
const withoutIpv6 = new Set(["EAFNOSUPPORT", "EADDRNOTAVAIL"]);

/** `serve` begins to listen on a host; it is asked again with another one where the machine has no IPv6. */
export async function onAnyAddress<Server>(serve: (host: string) => Promise<Server>): Promise<Server> {
  try {
    return await serve(both);
  } catch (thrown) {
    const cause = ProviderError.is(thrown, "AKP_LISTEN_FAILED") ? thrown.cause : thrown;
    if (!withoutIpv6.has(systemCodeOf(cause) ?? "")) throw thrown;
    return serve(onlyIpv4);
  }
}
