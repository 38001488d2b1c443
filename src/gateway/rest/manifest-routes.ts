/** Submitting, reading and withdrawing manifests. */

import type { TenantLeases } from "../../kube/tenant-access.ts";
import type { Address } from "../../market/address.ts";
import { bidOn, type DeploymentId, type LeaseId } from "../../market/ids.ts";
import type { ManifestGroup } from "../../market/manifest.ts";
import { manifestJson } from "../../market/manifest-json.ts";
import { readSdl } from "../../market/sdl/sdl.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { manifestBytes } from "../../runtime/limits.ts";
import { checkAllowed } from "../auth/identity.ts";
import { empty, failure, json, type RestAnswer } from "./answer.ts";
import type { DeploymentRequest, LeaseRequest, Route } from "./route.ts";

/** The manifest service; the gateway has made sure that the caller is the owner. */
export interface TenantManifests {
  /** Resolves once the manifest is durable; what it throws has changed nothing. */
  submit(deployment: DeploymentId, body: string | Uint8Array, signal: AbortSignal): Promise<unknown>;
  /** Throws AKP_NO_LEASE where the deployment has no lease of this provider. */
  withdraw(deployment: DeploymentId, signal: AbortSignal): Promise<unknown>;
  manifestOf(lease: LeaseId): { readonly group: ManifestGroup; readonly withdrawnAtMs?: number } | undefined;
}

interface ManifestRoutesDeps {
  readonly provider: Address;
  readonly leases: Pick<TenantLeases, "runs" | "leasesOf">;
  readonly manifests: TenantManifests;
}

/** Of an SDL; all other types are read as JSON, as by the Go provider. */
const yamlTypes: readonly (string | undefined)[] = ["application/yaml", "application/x-yaml", "text/yaml"];

export function manifestRoutes({ provider, leases, manifests }: ManifestRoutesDeps): Route[] {
  async function send({ owner, dseq, header, body, signal }: DeploymentRequest): Promise<RestAnswer> {
    const [type] = (header("content-type") ?? "").toLowerCase().split(";");
    const manifest = yamlTypes.includes(type?.trim()) ? manifestOfSdl(body) : body;
    return completed(manifests.submit({ owner, dseq }, manifest, signal), signal);
  }

  async function withdraw({ owner, dseq, identity, signal }: DeploymentRequest): Promise<RestAnswer> {
    for (const lease of leases.leasesOf(owner, dseq)) {
      const allowed = identity.servicesOf(lease, "send-manifest");
      const { services = [] } = manifests.manifestOf(lease)?.group ?? {};
      checkAllowed(services.every(({ name }) => allowed?.has(name) ?? true));
    }
    return completed(manifests.withdraw({ owner, dseq }, signal), signal);
  }

  function read({ owner, dseq, gseq, oseq, identity }: LeaseRequest): RestAnswer {
    const lease = bidOn({ owner, dseq, gseq, oseq }, provider);
    const manifest = leases.runs(lease) ? manifests.manifestOf(lease) : undefined;
    if (!manifest || manifest.withdrawnAtMs !== undefined) return failure(404, "lease not found");
    return json(manifestJson([shownOf(manifest.group, identity.servicesOf(lease, "get-manifest"))]));
  }

  const deployment = { path: "/deployment/{dseq}/manifest", access: "deployment", scope: "send-manifest" } as const;
  const errors = {
    401: "Not the owner, or not permitted.",
    404: "The provider has no such lease.",
    503: "The state of the chain or the cluster is unknown.",
  };
  return [
    {
      ...{ ...deployment, method: "PUT" },
      about: "Submits the manifest for all leases of a deployment, as JSON or as SDL.",
      body: { types: ["application/json", "application/yaml"], mostBytes: manifestBytes },
      answers: {
        200: "It is accepted.",
        ...errors,
        413: "It is too large.",
        422: "It is invalid, does not match the deployment on chain, or has a host name that is in use.",
        500: "The deployment is not on chain, as in the Go provider.",
      },
      handle: send,
    },
    {
      ...{ ...deployment, method: "DELETE" },
      about: "Withdraws it: its workloads are removed, the leases and their volumes stay.",
      answers: { 200: "It is withdrawn, or was before.", ...errors },
      handle: withdraw,
    },
    {
      ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/manifest", access: "lease", scope: "get-manifest" },
      about: "The manifest of a lease: a list with its one group.",
      answers: { 200: "The manifest.", ...errors },
      handle: read,
    },
  ];
}

async function completed(work: Promise<unknown>, signal: AbortSignal): Promise<RestAnswer> {
  try {
    await work;
    return empty(200);
  } catch (thrown) {
    throw signal.aborted ? new ProviderError("AKP_GATEWAY_CLIENT_GONE", {}) : thrown;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function manifestOfSdl(body: Uint8Array): string {
  try {
    return JSON.stringify(readSdl(utf8.decode(body)).manifest);
  } catch (thrown) {
    const reason = ProviderError.is(thrown, "AKP_SDL_REFUSED") ? thrown.message : "the SDL is not UTF-8";
    throw new ProviderError("AKP_MANIFEST_UNREADABLE", { reason });
  }
}

/** Services that the token does not permit may hold secrets. */
function shownOf(group: ManifestGroup, shown: ReadonlySet<string> | undefined): ManifestGroup {
  return { ...group, services: group.services.filter(({ name }) => shown?.has(name) ?? true) };
}
