/** Moving host names and endpoints between leases of one owner. */

import type { TenantLeases } from "../../kube/tenant-access.ts";
import { type GoJson, isList, readFirstValue, readUint } from "../../market/go-json.ts";
import { foldName } from "../../market/go-shape.ts";
import { goJson } from "../../market/sorted-json.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { checkAllowed, type TokenScope } from "../auth/identity.ts";
import { empty, plainJson, type RestAnswer } from "./answer.ts";
import type { OwnerRequest, Route } from "./route.ts";

/** As many names of 253 characters, each with its quotes, and some room. */
export const migrationBytes = 512 * 1024;

type MigrateDeps = Pick<TenantLeases, "leaseOf" | "moveHosts" | "moveEndpoints">;

interface Kind {
  readonly field: string;
  readonly scope: TokenScope;
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
  ): Promise<RestAnswer> {
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

// What is to be moved where, as a tenant's tool says it and Go reads it: names in any case, the first value counts.

/** Host names or endpoints that one request moves: a manifest names no more. */
export const migrationNames = 1_000;

interface Migration {
  readonly names: readonly string[];
  readonly dseq: bigint;
  readonly gseq: number;
}

/** It is two levels deep; fields that nobody knows may be deeper. */
const bounds = { mostDepth: 16, mostValues: 2 * migrationNames };
// Neither may a mark at the beginning be swallowed, nor a byte that is no text be an end.
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Undefined where it is none. What was not given is empty. */
export function readMigration(body: Uint8Array, namesField: string): Migration | undefined {
  try {
    return decode(readFirstValue(utf8.decode(body), bounds), namesField);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

function decode(json: GoJson, namesField: string): Migration {
  if (json !== null && (typeof json !== "object" || !("fields" in json))) throw new SyntaxError("it is no object");
  let [names, dseq, gseq]: [readonly string[], bigint, bigint] = [[], 0n, 0n];
  for (const [name, value] of json?.fields ?? []) {
    const field = foldName(name);
    // Go sets a list that is null, and leaves a number as it is.
    if (field === foldName(namesField)) names = value === null ? [] : textsOf(value);
    else if (value === null) continue;
    else if (field === destinationDseq) dseq = wholeOf(value, 64);
    else if (field === destinationGseq) gseq = wholeOf(value, 32);
  }
  return { names, dseq, gseq: Number(gseq) };
}

const destinationDseq = foldName("destination_dseq");
const destinationGseq = foldName("destination_gseq");

function textsOf(json: GoJson): string[] {
  if (!isList(json)) throw new SyntaxError("it is no list");
  if (json.length > migrationNames) {
    throw new ProviderError("AKP_MIGRATION_TOO_LONG", { most: migrationNames });
  }
  return json.map((item) => {
    if (item !== null && typeof item !== "string") throw new SyntaxError("it is no text");
    return item ?? "";
  });
}

function wholeOf(json: GoJson, bits: number): bigint {
  const value = readUint(json, bits);
  if (value === undefined) throw new SyntaxError("it is no whole number, or too large");
  return value;
}
