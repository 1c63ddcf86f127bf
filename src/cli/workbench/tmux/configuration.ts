/**
 * The private tmux server's configuration. It is written beside its socket at each start and only this tmux reads it; the user's
 * own tmux and its configuration are not touched.
 *
 * The shells are not login shells: a profile would reset the PATH of the user who started the workbench, and `svc` may be on no other.
 *
 * Titles are shown through user options, whose values tmux does not expand; `q/h` keeps `#[...]` in them from being parsed as
 * a style.
 */
export const tmuxConfiguration = `
set -g default-terminal screen-256color
set -g default-command 'exec "$SHELL"'
set -g exit-empty off
set -g destroy-unattached off
set -g focus-events on
set -g mouse on
set -g escape-time 25
set -g history-limit 20000
set -g allow-rename off
set -g automatic-rename off
set -g set-titles off
set -g renumber-windows off
set -g base-index 1
set -g pane-base-index 1
set -g window-size latest
set -g bell-action any
set -g visual-bell off
set -g activity-action none
set -g monitor-activity off
set -g status-left ' svc '
set -g status-right-length 84
set -g status-right '#{?@svc_notice,#{q/h:@svc_notice} ,}#{q/h:@svc_note} '
set -g window-status-format ' #I #{q/h:window_name}#{?@svc_unread, (#{@svc_unread}),} '
set -g window-status-current-format ' #I* #{q/h:window_name}#{?@svc_unread, (#{@svc_unread}),} '
`
