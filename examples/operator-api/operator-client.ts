/** Calls the operator API; a change is sent again with the same key after a lost connection, and happens once. */
import { randomUUID } from 'node:crypto'

const attempts = 3

export async function callOperatorApi(method: 'GET' | 'POST', path: string, body?: object): Promise<Response> {
  const { GATEWAY_URL: url = 'http://127.0.0.1:8787', OPERATOR_KEY: key } = process.env
  if (key === undefined) throw new Error('Set OPERATOR_KEY to an operator key (svc_op_…).')
  const request = {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await fetch(`${url}/api/operator/v1/${path}`, request)
      if (response.ok) return response
      const problem = (await response.json()) as { readonly detail: string; readonly code: string; readonly instance: string }
      throw new RefusedError(`${problem.detail} (${problem.code}, ${problem.instance})`)
    } catch (error) {
      if (error instanceof RefusedError || attempt === attempts) throw error
    }
  }
}

class RefusedError extends Error {}
