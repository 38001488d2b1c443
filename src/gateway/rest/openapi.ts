/** The OpenAPI document of the gateway, made from its routes. */
import type { Address } from "../../market/address.ts";
import { json } from "./answer.ts";
import type { Route } from "./route.ts";

interface About {
  readonly version: string;
  readonly provider: Address;
}

export function withOpenapi(routes: readonly Route[], about: About): Route[] {
  const own: Route = {
    ...{ method: "GET", path: "/openapi.json", access: "public" },
    about: "This document.",
    answers: { 200: "An OpenAPI document." },
    handle: () => answer,
  };
  const all = [...routes, own];
  const answer = json(JSON.stringify(openapiOf(all, about)));
  return all;
}

function openapiOf(routes: readonly Route[], { version, provider }: About) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Akash Provider",
      version,
      summary: `Requests of tenants and their tools to the provider ${provider}.`,
      description:
        "Credentials are a token signed by the owner of a lease, or a client certificate that is on the chain. Invalid ones are rejected on every route, public ones included.",
    },
    paths,
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        certificate: { type: "mutualTLS" },
        operator: { type: "http", scheme: "bearer", description: "The token of --gateway-metrics-token-file." },
      },
      schemas: {
        Refusal: { type: "object", required: ["message"], properties: { message: { type: "string" } } },
      },
    },
  };
}

function operationOf(route: Route) {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const entries = Object.entries(route.answers).map(([status, description]) => [status, { description }]);
  const answers: Record<string, unknown> = Object.fromEntries(entries);
  if (!("readsAuthorization" in route)) {
    answers["400"] ??= errorOf("The request cannot be read, or it has two kinds of credentials.");
    answers["401"] ??= errorOf("The credentials are invalid, or do not permit this.");
  }
  const scope = "scope" in route ? ` Tokens with scopes need \`${route.scope}\`.` : "";
  return {
    operationId: `${route.method.toLowerCase()}${route.path.replaceAll(/[^a-zA-Z]+(.?)/g, (_, next: string) => next.toUpperCase())}`,
    summary: route.about,
    ...(scope && { description: scope.trim() }),
    security: securityOf(route),
    ...(names.length > 0 && { parameters: names.map(parameterOf) }),
    ...(route.body && {
      requestBody: { required: true, content: Object.fromEntries(route.body.types.map((type) => [type, {}])) },
    }),
    responses: answers,
  };
}

function errorOf(description: string) {
  return { description, content: { "application/json": { schema: { $ref: "#/components/schemas/Refusal" } } } };
}

function securityOf(route: Route): Record<string, string[]>[] {
  if (route.access !== "public") return [{ token: [] }, { certificate: [] }];
  return route.readsAuthorization ? [{}, { operator: [] }] : [{}];
}

function parameterOf(name: string) {
  const isNumber = /^[dgo]seq$/.test(name);
  const schema = isNumber ? { type: "integer", minimum: 0 } : { type: "string" };
  return { name, in: "path", required: true, schema };
}
