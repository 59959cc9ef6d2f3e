/** Keeps a failure of one part of a page in that part. */

import { Component, type ReactNode } from "react";

interface Given {
  children: ReactNode;
  /** In place of what failed. */
  instead: (error: unknown) => ReactNode;
}

export class Guard extends Component<Given, { failed?: { error: unknown } }> {
  override state: { failed?: { error: unknown } } = {};

  static getDerivedStateFromError(error: unknown) {
    return { failed: { error } };
  }

  override render(): ReactNode {
    const { failed } = this.state;
    return failed ? this.props.instead(failed.error) : this.props.children;
  }
}
