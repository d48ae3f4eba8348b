import type { ExecutionContext } from '@nestjs/common';

/**
 * What the keys of a handler are made of; in templates each field is a name of its own: `#params.id`, `#body.sku`,
 * `#headers['x-tenant']`, `#user.id`, `#data.id`. Interceptors run before pipes: nothing of it has been validated or
 * transformed.
 */
export interface LockRequest {
  /** HTTP: the parameters of the route. */
  readonly params: any;
  /** HTTP: the query string, parsed. */
  readonly query: any;
  /** HTTP: the body, parsed. */
  readonly body: any;
  /** HTTP, and GraphQL over it: the headers, with names in lower case. */
  readonly headers: any;
  /** Who asks, as a guard put it on the request (`request.user`), on the WebSocket client, or in the GraphQL context. */
  readonly user: any;
  /** The payload of a microservice's or a WebSocket's message; the arguments of a GraphQL field. */
  readonly data: any;
}

/** The same, as it is read: nothing is known of it. */
type Fields = Record<keyof LockRequest, unknown>;

interface Carrier {
  readonly headers?: unknown;
  readonly user?: unknown;
}

/** The context of GraphQL as its servers are set up mostly. Told by shape, so that its package need not be there. */
interface GraphqlContext extends Carrier {
  readonly req?: Carrier;
  readonly request?: Carrier;
}

/** What stands in a request, whichever way it came in. */
export function lockRequest(context: ExecutionContext): LockRequest {
  return { ...NOTHING, ...fieldsOf(context) };
}

const NOTHING: Fields = {
  params: undefined,
  query: undefined,
  body: undefined,
  headers: undefined,
  user: undefined,
  data: undefined,
};

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
