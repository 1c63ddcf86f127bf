/** What stands where a list has nothing: a picture, one sentence, and at most one action. */
import type { IconName } from '../../components/icons.ts'
import { createElement } from '../page.ts'
import { createIcon } from './icon.ts'

export function createEmptyState(icon: IconName, text: string, action?: HTMLElement): HTMLElement {
  return createElement('div', { class: 'empty-state' }, createIcon(icon), createElement('p', {}, text), action)
}
