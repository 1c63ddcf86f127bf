/** The methods of the protocol for panes. */
import { z } from 'zod'
import { id, cwd, nothing, result } from './define-method.ts'
import type { MethodDefinition } from './define-method.ts'
import type { Focus, Pane, Done } from './results.ts'

const direction = z.enum(['right', 'left', 'up', 'down'])

export const paneMethods = {
  'pane.list': {
    summary: 'the panes of a workspace',
    params: z.strictObject({ workspaceId: id.optional(), all: z.boolean().optional() }),
    result: result<{ readonly panes: readonly Pane[] }>(),
  },
  'pane.split': {
    summary: 'make a pane beside another',
    params: z.strictObject({
      paneId: id.optional(),
      workspaceId: id.optional(),
      direction,
      size: z.number().int().min(1).max(99).optional(),
      cwd: cwd.optional(),
      command: z.string().max(65_536).optional(),
    }),
    result: result<{ readonly pane: Pane }>(),
  },
  'pane.close': {
    summary: 'close it and end its program',
    params: z.strictObject({ paneId: id, force: z.boolean().optional() }),
    result: result<Done>(),
  },
  'pane.resize': {
    summary: 'change its size',
    params: z.strictObject({
      paneId: id.optional(),
      workspaceId: id.optional(),
      cols: z.number().int().min(1).max(10_000).optional(),
      rows: z.number().int().min(1).max(10_000).optional(),
    }),
    result: result<{ readonly pane: Pane }>(),
  },
  'pane.send': {
    summary: 'type text into it',
    params: z.strictObject({ paneId: id.optional(), workspaceId: id.optional(), text: z.string() }),
    result: result<Done>(),
  },
  'pane.key': {
    summary: 'press a key in it',
    params: z.strictObject({ paneId: id.optional(), workspaceId: id.optional(), key: z.string().min(1).max(32) }),
    result: result<Done>(),
  },
  'pane.read': {
    summary: 'its screen, and lines above it',
    params: z.strictObject({
      paneId: id.optional(),
      workspaceId: id.optional(),
      lines: z.number().int().min(0).max(20_000).optional(),
    }),
    result: result<{ readonly pane: Pane; readonly text: string }>(),
  },
  'pane.focus': {
    summary: 'give it the focus',
    params: z.union([z.strictObject({ paneId: id }), z.strictObject({ direction })]),
    result: result<{ readonly focused: Focus }>(),
    focus: true,
  },
  'pane.last': {
    summary: 'give the focus back to the previous one',
    params: nothing,
    result: result<{ readonly focused: Focus }>(),
    focus: true,
  },
} as const satisfies Record<string, MethodDefinition>
