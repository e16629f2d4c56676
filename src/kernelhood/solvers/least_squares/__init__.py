"""Problems with the squared loss: linear systems in the place of SVMs."""
