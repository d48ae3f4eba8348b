import type { ExecutionContext } from '@nestjs/common';

/**
 * The parts of a request that keys can use. In templates each field has its own name: `#params.id`, `#body.sku`,
 * `#headers['x-tenant']`, `#user.id`, `#data.id`. Interceptors run before pipes, so no value has been validated or
 * transformed.
 */
export interface RequestParts {
  /** HTTP: the parameters of the route. */
  readonly params: any;
  /** HTTP: the query string, parsed. */
  readonly query: any;
  /** HTTP: the body, parsed. */
  readonly body: any;
  /** HTTP, and GraphQL over it: the headers, with names in lower case. */
  readonly headers: any;
  /** The user that a guard set on the request (`request.user`), on the WebSocket client, or in the GraphQL context. */
  readonly user: any;
  /** The payload of a microservice's or a WebSocket's message; the arguments of a GraphQL field. */
  readonly data: any;
}

/** The same fields, of unknown types. */
type Fields = Record<keyof RequestParts, unknown>;

interface Carrier {
  readonly headers?: unknown;
  readonly user?: unknown;
}

/** The usual context of GraphQL servers. It is recognized by its shape, so that the GraphQL package is not needed. */
interface GraphqlContext extends Carrier {
  readonly req?: Carrier;
  readonly request?: Carrier;
}

/** The parts of a request, on any transport. */
export function requestParts(context: ExecutionContext): RequestParts {
  const { params, query, body, headers, user, data } = fieldsOf(context);
  return { params, query, body, headers, user, data };
}

function fieldsOf(context: ExecutionContext): Partial<Fields> {
  switch (context.getType<string>()) {
    case 'http': {
      // Express keeps some of these on the prototype or behind getters, where templates do not look.
      const { params, query, body, headers, user } = context.switchToHttp().getRequest<Fields>();
      return { params, query, body, headers, user };
    }
    case 'graphql': {
      const [, data, graphql = {}] = context.getArgs<[root: unknown, data: unknown, context?: GraphqlContext]>();
      const request = graphql.req ?? graphql.request;
      return { data, headers: request?.headers, user: request?.user ?? graphql.user };
    }
    case 'ws': {
      const client = context.switchToWs().getClient<(Carrier & { readonly data?: Carrier }) | undefined>();
      return { data: context.switchToWs().getData<unknown>(), user: client?.user ?? client?.data?.user };
    }
    default:
      return { data: context.switchToRpc().getData<unknown>() };
  }
}
