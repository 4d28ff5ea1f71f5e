"""What happens to text around the model: cutting, joining, language detection."""
