/** The style guide: the components that scripts make. */
import { setUpDrawer } from '../../../../src/pages/browser/components/drawer.ts'
import { createIconButton } from '../../../../src/pages/browser/components/icon.ts'
import { showToast } from '../../../../src/pages/browser/components/toast.ts'
import { findElement } from '../../../../src/pages/browser/page.ts'

findElement('[data-icon-button]', HTMLElement).append(createIconButton('settings', 'Tooltip', () => undefined))
findElement('[data-toast]', HTMLElement).addEventListener('click', () =>
  showToast('Deleted.', { label: 'Undo', run: () => showToast('Restored.') }),
)
setUpDrawer(
  findElement('[data-drawer]', HTMLDialogElement),
  findElement('[data-drawer-content]', HTMLElement),
  findElement('[data-drawer-opener]', HTMLElement),
)
findElement('[data-dialog-opener]', HTMLElement).addEventListener('click', () =>
  findElement('[data-dialog]', HTMLDialogElement).showModal(),
)
