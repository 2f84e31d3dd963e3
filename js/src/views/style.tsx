// The style of what the extras draw: it comes with them, into each view.

export const Style = () => <style>{EXTRAS_STYLE}</style>;
