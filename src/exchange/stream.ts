/** The client's stream: how it is opened, and the mark at its end. */
import type { Client } from './client.ts'
import { streamHeaders } from './headers.ts'

/** Opens the client's stream unless it is open, or nobody is there. */
export function openStream(wire: { readonly client: Client; headers(): Record<string, string> }): void {
  const { client } = wire
  if (!client.opened && !client.left) client.open(200, { ...wire.headers(), ...streamHeaders })
}

export const endMark = 'data: [DONE]\n\n'
