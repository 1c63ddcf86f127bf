/** The methods of the protocol for workspaces. */
import { z } from 'zod'
import { id, title, cwd, nothing, result } from './define-method.ts'
import type { MethodDefinition } from './define-method.ts'
import type { Focus, Workspace, Pane, BrowserPage, Done } from './results.ts'

const env = z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string().max(32_768))

export const workspaceMethods = {
  'workspace.list': {
    summary: 'the workspaces',
    params: nothing,
    result: result<{ readonly workspaces: readonly Workspace[] }>(),
  },
  'workspace.create': {
    summary: 'make a workspace in the background',
    params: z.strictObject({
      title: title.optional(),
      cwd: cwd.optional(),
      command: z.string().max(65_536).optional(),
      env: env.optional(),
    }),
    result: result<{ readonly workspace: Workspace; readonly pane: Pane }>(),
  },
  'workspace.rename': {
    summary: 'give it another title',
    params: z.strictObject({ id, title }),
    result: result<{ readonly workspace: Workspace }>(),
  },
  'workspace.close': {
    summary: 'close it and end its programs',
    params: z.strictObject({ id, force: z.boolean().optional() }),
    result: result<Done>(),
  },
  'workspace.show': {
    summary: 'its panes and pages',
    params: z.strictObject({ id: id.optional() }),
    result: result<{ readonly workspace: Workspace; readonly panes: readonly Pane[]; readonly pages: readonly BrowserPage[] }>(),
  },
  'workspace.focus': {
    summary: 'bring it to the front',
    params: z.strictObject({ id }),
    result: result<{ readonly focused: Focus }>(),
    focus: true,
  },
  'workspace.next': {
    summary: 'bring the next one to the front',
    params: nothing,
    result: result<{ readonly focused: Focus }>(),
    focus: true,
  },
  'workspace.previous': {
    summary: 'bring the one before to the front',
    params: nothing,
    result: result<{ readonly focused: Focus }>(),
    focus: true,
  },
  'workspace.last': {
    summary: 'bring the previously focused one to the front',
    params: nothing,
    result: result<{ readonly focused: Focus }>(),
    focus: true,
  },
} as const satisfies Record<string, MethodDefinition>
