/** Sends unauthorized requests to every route in the OpenAPI document of a running gateway, so added routes are covered. */
import assert from "node:assert/strict";
import type { TLSSocket } from "node:tls";
import { scopes } from "../../src/gateway/auth/identity.ts";
import { connectGateway, type GatewayRequest, requestOn, sendRequest } from "../support/gateway-client.ts";
import type { GatewayTenant } from "../support/gateway-tenant.ts";
import { newSigner } from "../support/stages/auth-stage.ts";
import type { GatewayStage } from "../support/stages/gateway-stage.ts";

export interface EveryRouteStage {
  readonly stage: GatewayStage;
  /** Has a lease with this number, with a service named `page`. */
  readonly tenant: GatewayTenant;
  readonly dseq: bigint;
  /** Without a lease, with a valid certificate. */
  readonly otherTenant: GatewayTenant;
  readonly otherCertificate: Certificate;
  /** Of the owner, but revoked or expired. */
  readonly badCertificates: readonly Certificate[];
}

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

interface TestedRoute {
  readonly name: string;
  readonly isPublic: boolean;
  /** Its header is for an operator. */
  readonly hasOwnHeader: boolean;
  readonly isOfLease: boolean;
  /** Sent without the upgrade headers, which are checked last. */
  readonly isStream: boolean;
  readonly scope: string | undefined;
  readonly request: GatewayRequest;
}

interface Operation {
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: object;
  readonly responses: object;
}

const bodyScopes: Readonly<Record<string, string>> = {
  "/hostname/migrate": "hostname-migrate",
  "/endpoint/migrate": "ip-migrate",
};

/** Returns the number of rejections. */
export async function askEveryRoute(options: EveryRouteStage): Promise<number> {
  const { stage, tenant, dseq, otherTenant, otherCertificate: certificate, badCertificates } = options;
  const { port } = stage;
  const socket = await connectGateway({ port });
  const routes = await routesOf(socket, dseq);
  let rejections = 0;

  async function assertRejected(route: TestedRoute, authorization: string | undefined, who: string): Promise<void> {
    const { status, body } = await requestOn(socket, { ...route.request, authorization });
    assert.equal(status, 401, `${route.name} with ${who}: ${body}`);
    assert.match(body, /^\{"message":"[^"]+"\}$/);
    rejections += 1;
  }

  const bad = badTokens(tenant);
  const limited = limitedTokens(tenant, stage.provider.address, dseq);
  for (const route of routes) {
    if (route.hasOwnHeader) continue;
    for (const [who, token] of bad) await assertRejected(route, `Bearer ${token}`, who);
    if (route.isPublic) continue;
    await assertRejected(route, undefined, "nothing");
    for (const { who, token, opens } of limited) {
      if (!opens(route)) await assertRejected(route, `Bearer ${token}`, who);
    }
  }
  for (const certificate of badCertificates) {
    const own = await connectGateway({ port, certificate });
    for (const route of routes.filter(({ hasOwnHeader }) => !hasOwnHeader)) {
      const { status, body } = await requestOn(own, route.request);
      assert.equal(status, 401, `${route.name} with a bad certificate: ${body}`);
      rejections += 1;
    }
    own.destroy();
  }
  for (const route of routes.filter(({ isPublic, scope }) => !isPublic && scope !== undefined)) {
    for (const other of [{ authorization: otherTenant.bearer() }, { certificate }]) {
      const { status } = await sendRequest({ port, ...other }, { ...route.request, ...other });
      assert(status >= 400, `${route.name} of another owner: ${status}`);
    }
  }
  // The owner is permitted, else the rejections would prove nothing. Deletions come last.
  for (const route of routes.filter(({ hasOwnHeader }) => !hasOwnHeader).sort((a, b) => rank(a) - rank(b))) {
    const { status, body } = await requestOn(socket, { ...route.request, authorization: tenant.bearer() });
    assert.notEqual(status, 401, `${route.name}: ${body}`);
    if (route.scope !== undefined && route.request.method === "GET")
      assert.equal(status, route.isStream ? 400 : 200, `${route.name}: ${body}`);
  }
  socket.destroy();
  return rejections;
}

function rank({ request }: TestedRoute): number {
  return request.method === "DELETE" ? 1 : 0;
}

async function routesOf(socket: TLSSocket, dseq: bigint): Promise<TestedRoute[]> {
  const { body } = await requestOn(socket, { path: "/openapi.json" });
  const { paths } = JSON.parse(body) as { paths: Record<string, Record<string, Operation>> };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, { description = "", security, requestBody, responses }]): TestedRoute => {
      const method = verb.toUpperCase();
      const values: Record<string, string> = { dseq: `${dseq}`, gseq: "1", oseq: "1", serviceName: "page" };
      const destination = { destination_dseq: Number(dseq), destination_gseq: 1 };
      return {
        name: `${method} ${path}`,
        isPublic: security.some((way) => Object.keys(way).length === 0),
        hasOwnHeader: security.some((way) => "operator" in way),
        isOfLease: path.startsWith("/lease/"),
        isStream: "101" in responses,
        scope: /`([a-z-]+)`/.exec(description)?.[1] ?? bodyScopes[path],
        request: {
          method,
          path: path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "1"),
          ...(requestBody && { body: JSON.stringify(destination) }),
        },
      };
    }),
  );
}

function badTokens(tenant: GatewayTenant): [who: string, token: string][] {
  const now = Math.floor(Date.now() / 1_000);
  const [header, payload, signature] = tenant.token().split(".");
  const { address } = newSigner();
  return [
    ["a token that is over", tenant.token({ exp: now - 1 })],
    ["another account's signature", `${header}.${payload}.${tenant.token({ jti: "1" }).split(".")[2]}`],
    ["a token in another's name", tenant.token({ iss: address })],
    ["no signature", `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.${signature}`],
    ["no token", "x"],
  ];
}

interface Limited {
  readonly who: string;
  readonly token: string;
  /** What the token is for after all, so that this says nothing of it. */
  opens(route: TestedRoute): boolean;
}

/** Good tokens that are for something else. Routes without a scope are for every one of this provider. */
function limitedTokens(tenant: GatewayTenant, provider: string, dseq: bigint): Limited[] {
  const all = [...scopes];
  const granular = (at: string, deployment: object, scope: readonly string[] = all) => {
    const deployments = [{ dseq: Number(dseq), scope, services: ["page", "store"], ...deployment }];
    return tenant.token({
      leases: { access: "granular", permissions: [{ provider: at, access: "granular", deployments }] },
    });
  };
  const hasNoScope = ({ scope }: TestedRoute) => scope === undefined;
  return [
    ...all.flatMap((only): Limited[] => {
      const opens = ({ scope }: TestedRoute) => scope === undefined || scope === only;
      return [
        { who: `${only} alone`, token: tenant.token({ leases: { access: "scoped", scope: [only] } }), opens },
        { who: `${only} alone, for the deployment`, token: granular(provider, {}, [only]), opens },
      ];
    }),
    { who: "another provider's", token: granular(newSigner().address, {}), opens: () => false },
    { who: "another deployment's", token: granular(provider, { dseq: Number(dseq) + 1 }), opens: hasNoScope },
    { who: "another group's", token: granular(provider, { gseq: 2 }), opens: ({ isOfLease }) => !isOfLease },
    { who: "another order's", token: granular(provider, { gseq: 1, oseq: 2 }), opens: ({ isOfLease }) => !isOfLease },
    {
      who: "another service's",
      token: granular(provider, { services: ["store"] }),
      opens: ({ name }) => !name.includes("{serviceName}"),
    },
    {
      who: "unknown scope",
      token: tenant.token({ leases: { access: "scoped", scope: ["everything"] } }),
      opens: hasNoScope,
    },
  ];
}
