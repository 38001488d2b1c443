/** Moving host names and endpoints between leases of one owner. */
import { goJson } from "../../market/sorted-json.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { checkAllowed, type Scope } from "../auth/identity.ts";
import type { TenantLeases } from "../tenant-side.ts";
import { type Answer, empty, plainJson } from "./answer.ts";
import { readMigration } from "./migration.ts";
import type { OwnerRequest, Route } from "./route.ts";

/** As many names of 253 characters, each with its quotes, and some room. */
export const migrationBytes = 512 * 1024;

type MigrateDeps = Pick<TenantLeases, "leaseOf" | "moveHosts" | "moveEndpoints">;

interface Kind {
  /** Of the names, in the body. */
  readonly field: string;
  readonly scope: Scope;
  readonly move: TenantLeases["moveHosts"];
}

const asked = {
  body: { types: ["application/json"], mostBytes: migrationBytes },
  answers: {
    200: "They are there now, also those that were before.",
    400: "Nothing is moved: nothing was asked for, the destination is unknown, or something is not its own to have.",
    401: "The credentials are not good for it.",
    429: "Too many of the owner's requests wait already.",
    422: "The body cannot be read.",
    503: "The cluster does not answer. What was begun is gone on with; it may be asked for again.",
  },
} as const;

export function migrateRoutes(leases: MigrateDeps): Route[] {
  async function migrate(
    { identity, owner, body, signal }: OwnerRequest,
    { field, scope, move }: Kind,
  ): Promise<Answer> {
    const migration = readMigration(body, field);
    if (!migration) return empty(422);
    const { names, dseq, gseq } = migration;
    checkAllowed(identity.mayUseDeployment(dseq, scope));
    if (names.length === 0) return empty(400);
    const to = leases.leaseOf(owner, dseq, gseq);
    if (!to) throw new ProviderError("AKP_DESTINATION_UNKNOWN", {});
    checkAllowed(identity.mayUseLease(to, scope));
    const services = identity.servicesOf(to, scope);
    await move(names, to, (service) => checkAllowed(services?.has(service) !== false), signal);
    return plainJson(goJson({ transferred: names }));
  }

  const hosts: Kind = { field: "hostnames_to_migrate", scope: "hostname-migrate", move: leases.moveHosts };
  const endpoints: Kind = { field: "endpoints_to_migrate", scope: "ip-migrate", move: leases.moveEndpoints };
  return [
    {
      ...{ method: "POST", path: "/hostname/migrate", access: "owner", ...asked },
      about: "Moves host names from other deployments of the owner to this one.",
      handle: (request: OwnerRequest) => migrate(request, hosts),
    },
    {
      ...{ method: "POST", path: "/endpoint/migrate", access: "owner", ...asked },
      about: "Moves endpoints of leased addresses from other deployments of the owner to this one.",
      handle: (request: OwnerRequest) => migrate(request, endpoints),
    },
  ];
}
