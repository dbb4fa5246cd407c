"""Jobs that save checkpoints over and over: their ranks are killed, and h5py looks at what is left."""
