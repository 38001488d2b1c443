/** The OpenAPI document of the gateway, made from its routes. */
import type { Address } from "../../market/address.ts";
import { json } from "./answer.ts";
import type { Route } from "./route.ts";

export function withOpenapi(
  routes: readonly Route[],
  about: { readonly version: string; readonly provider: Address },
): Route[] {
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

function openapiOf(
  routes: readonly Route[],
  { version, provider }: { readonly version: string; readonly provider: Address },
) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Akash Provider",
      version,
      summary: `What tenants and their tools ask the provider ${provider}.`,
      description:
        "Credentials are a token that the owner of a lease has signed, or a client certificate that is on the chain. Those that are not good are refused on every route, on those for everybody too.",
    },
    paths,
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        certificate: { type: "mutualTLS" },
        operator: { type: "http", scheme: "bearer", description: "The token of --gateway-metrics-token-file." },
      },
      schemas: {
        Refusal: {
          type: "object",
          required: ["message"],
          properties: { message: { type: "string" } },
        },
      },
    },
  };
}

function operationOf(route: Route) {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const answers: Record<string, unknown> = {};
  for (const [status, description] of Object.entries(route.answers)) answers[status] = { description };
  if (!("readsAuthorization" in route)) {
    answers["400"] ??= refusalOf("What was sent cannot be read, or credentials contradict each other.");
    answers["401"] ??= refusalOf("The credentials are not good, or not for this.");
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

function refusalOf(description: string) {
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
