/** Moving host names and endpoints between leases of one owner. */
import type { TenantLeases } from "../../kube/tenant-access.ts";
import { type GoJson, isList, readFirstValue, readUint } from "../../market/go-json.ts";
import { foldName } from "../../market/go-shape.ts";
import { goJson } from "../../market/sorted-json.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { checkAllowed, type TokenScope } from "../auth/identity.ts";
import { empty, plainJson, type RestAnswer } from "./answer.ts";
import type { OwnerRequest, Route } from "./route.ts";

/** Enough for 1,000 quoted names of 253 characters. */
export const migrationBytes = 512 * 1024;

const common = {
  body: { types: ["application/json"], mostBytes: migrationBytes },
  answers: {
    200: "All of them are moved, or were there before.",
    400: "Nothing is moved: the list is empty, the destination is unknown, or it does not declare one of them.",
    401: "The credentials do not permit it.",
    429: "Too many requests of the owner are waiting.",
    422: "The body cannot be read.",
    503: "The cluster does not answer. The move continues; the request may be repeated.",
  },
} as const;

export function migrateRoutes(leases: Pick<TenantLeases, "leaseOf" | "moveHosts" | "moveEndpoints">): Route[] {
  const migrate =
    (namesField: string, scope: TokenScope, move: TenantLeases["moveHosts"]) =>
    async ({ identity, owner, body, signal }: OwnerRequest): Promise<RestAnswer> => {
      const migration = readMigration(body, namesField);
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
    };

  return [
    {
      ...{ method: "POST", path: "/hostname/migrate", access: "owner", ...common },
      about: "Moves host names from other deployments of the owner to this one.",
      handle: migrate("hostnames_to_migrate", "hostname-migrate", leases.moveHosts),
    },
    {
      ...{ method: "POST", path: "/endpoint/migrate", access: "owner", ...common },
      about: "Moves endpoints of leased addresses from other deployments of the owner to this one.",
      handle: migrate("endpoints_to_migrate", "ip-migrate", leases.moveEndpoints),
    },
  ];
}

// Request bodies are read as Go reads them: names in any case.

/** Host names or endpoints in one request: a manifest has no more. */
export const migrationNames = 1_000;

/** Of two levels; unknown fields may have more. */
const bounds = { mostDepth: 16, mostValues: 2 * migrationNames };
// Go keeps a byte order mark, and does not end at invalid bytes.
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Undefined where it is invalid. Missing fields are empty. */
export function readMigration(body: Uint8Array, namesField: string) {
  try {
    return decode(readFirstValue(utf8.decode(body), bounds), namesField);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

function decode(json: GoJson, namesField: string) {
  if (json !== null && (typeof json !== "object" || !("fields" in json))) throw new SyntaxError("it is no object");
  let [names, dseq, gseq]: [readonly string[], bigint, bigint] = [[], 0n, 0n];
  for (const [name, value] of json?.fields ?? []) {
    const field = foldName(name);
    // For null, Go empties a list and leaves a number as it is.
    if (field === foldName(namesField)) names = value === null ? [] : stringsOf(value);
    else if (value === null) continue;
    else if (field === foldName("destination_dseq")) dseq = uintOf(value, 64);
    else if (field === foldName("destination_gseq")) gseq = uintOf(value, 32);
  }
  return { names, dseq, gseq: Number(gseq) };
}

function stringsOf(json: GoJson): string[] {
  if (!isList(json)) throw new SyntaxError("not a list");
  if (json.length > migrationNames) throw new ProviderError("AKP_MIGRATION_TOO_LONG", { most: migrationNames });
  return json.map((item) => {
    if (item !== null && typeof item !== "string") throw new SyntaxError("not a string");
    return item ?? "";
  });
}

function uintOf(json: GoJson, bits: number): bigint {
  const value = readUint(json, bits);
  if (value === undefined) throw new SyntaxError("not an unsigned integer, or too large");
  return value;
}
