// The mark: one word looks at another.

export const Mark = () => (
  <svg class="bl-logo" viewBox="0 0 24 16" width="24" height="16" aria-hidden="true">
    <path d="M4 12.5a8 8.5 0 0 1 16 0" />
    <circle cx="4" cy="12.5" r="2.5" />
    <circle cx="20" cy="12.5" r="2.5" />
  </svg>
);
