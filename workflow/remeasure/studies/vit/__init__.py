"""Vision Transformers, from pixels to fine-tuning."""
