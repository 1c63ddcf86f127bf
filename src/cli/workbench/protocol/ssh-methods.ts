/** The methods of the protocol for connections to other machines. */
import { z } from 'zod'
import { id, title, cwd, nothing, result } from './define-method.ts'
import type { MethodDefinition } from './define-method.ts'
import type { Workspace, Pane, Ssh } from './results.ts'

export const sshMethods = {
  'ssh.connect': {
    summary: 'log in, in a workspace of its own',
    params: z.strictObject({
      destination: z.string().min(1).max(1_024),
      title: title.optional(),
      port: z.number().int().min(1).max(65_535).optional(),
      identity: cwd.optional(),
      options: z
        .array(
          z
            .string()
            .regex(/^[A-Za-z]+[= ]/)
            .max(4_096),
        )
        .max(50)
        .optional(),
    }),
    result: result<{ readonly ssh: Ssh; readonly workspace: Workspace; readonly pane: Pane }>(),
  },
  'ssh.list': {
    summary: 'the connections',
    params: nothing,
    result: result<{ readonly connections: readonly Ssh[] }>(),
  },
  'ssh.status': {
    summary: 'the state of one',
    params: z.strictObject({ sshId: id }),
    result: result<{ readonly ssh: Ssh }>(),
  },
  'ssh.disconnect': {
    summary: 'end one',
    params: z.strictObject({ sshId: id }),
    result: result<{ readonly ssh: Ssh }>(),
  },
  'ssh.reconnect': {
    summary: 'log in again, in the same pane',
    params: z.strictObject({ sshId: id }),
    result: result<{ readonly ssh: Ssh }>(),
  },
} as const satisfies Record<string, MethodDefinition>
