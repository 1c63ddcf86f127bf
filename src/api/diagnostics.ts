/** Endpoints with which `svc-gateway doctor --from` tests the way from a public address to the gateway. They reveal nothing but the request. */
import { z } from 'zod'
import { defineEndpoint } from './endpoint.ts'

const hop = z.strictObject({ address: z.string(), isTrusted: z.boolean() })
const header = z.string().nullable()

const report = z.strictObject({
  /** `1.0`, `1.1` or `2.0`: of the connection that the gateway received. */
  httpVersion: z.string(),
  scheme: z.enum(['http', 'https']),
  host: z.string(),
  /** The other end of the connection: the client, or the last proxy. */
  peer: hop,
  peerPort: z.int(),
  /** The address that limits are counted by. */
  clientAddress: z.string(),
  /** X-Forwarded-For, one element per address. */
  forwardedFor: z.array(hop),
  forwardedProto: header,
  /** The origin that the client used, as the proxies report it; null without X-Forwarded-Proto. */
  publicOrigin: header,
  /** Headers that some proxies add by default. */
  forwardedHost: header,
  forwardedServer: header,
  forwardedPort: header,
  via: header,
  /** `SITE_URL` and `BASE_URL` of the gateway. */
  siteUrl: header,
  baseUrl: header,
  /** `limits.chatBodyBytes`. */
  maxBodyBytes: z.int(),
  /** Bytes of the body received. */
  bodyBytes: z.int(),
})

export const diagnoseRequest = defineEndpoint({
  method: 'get',
  path: '/api/operator/diagnostics',
  security: 'diagnostic_token',
  summary: 'What the gateway received of this request: scheme, host, addresses; 404 without a valid token.',
  response: report,
  errors: ['not_found'],
})

export const diagnoseBody = defineEndpoint({
  method: 'post',
  path: '/api/operator/diagnostics',
  security: 'diagnostic_token',
  summary: 'The same for a request with a body, which has the limit of a chat request and is discarded.',
  body: z.object({ padding: z.string().optional() }),
  response: report,
  errors: ['not_found'],
})

export const diagnoseStream = defineEndpoint({
  method: 'get',
  path: '/api/operator/diagnostics/stream',
  security: 'diagnostic_token',
  summary: 'Five events, 300 ms apart, with the headers of a chat stream. No upstream is called and nothing is charged.',
  mediaType: 'text/event-stream',
  errors: ['not_found'],
})
